/* text_case.h: one text through everything that reads text, with what must hold whatever the
 * text is. Public API only. */
#ifndef TEXT_CASE_H
#define TEXT_CASE_H

#include <stddef.h>

enum text_case_way {
    TEXT_CASE_READ = 0,   /* read; what is accepted is printed, read again and compared */
    TEXT_CASE_CHECK = 1,  /* and checked, with its struct info derived anew */
    TEXT_CASE_COMPILE =
        2 /* and taken through every pass (printed and read after each), and compiled */
};

typedef struct text_case_result {
    const char *broken; /* what did not hold, static; NULL if all did */
    const char *pass;   /* after this pass; NULL: as it was read */
    char detail[2000];  /* more about it */
    int accepted;       /* was it read without an error? */
    int compiled;
} text_case_result;

/* Holds: nothing crashes, memory goes back, internal errors do not occur, what is refused has
 * an error with a place, what is accepted prints, reads again as an equal module and prints the
 * same (or is ill-formed), also after passes. */
text_case_result text_case(const char *text, size_t len, enum text_case_way way);

#endif
