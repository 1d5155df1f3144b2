/*- diag.h: source texts, places in them, and diagnostics.
 *
 *     place    | source 16 | begin 30 | length 18 |      0: no place
 *
 * A source of the host ("opaque") has a name only; its places are whatever numbers the host gave.
 */
#ifndef RLX_BASE_DIAG_H
#define RLX_BASE_DIAG_H

#include "base/place_group.h"
#include "base/region.h"
#include "base/text.h"
#include "base/vec.h"

typedef uint64_t rlx_place;
#define RLX_NO_PLACE ((rlx_place)0)
#define RLX_MAX_SOURCES 65535u
#define RLX_MAX_SOURCE_BYTES ((1u << 30) - 1)
RLX_INLINE rlx_place rlx_place_make(uint32_t source, uint32_t begin, uint32_t len)
{
    return (rlx_place)source << 48 | (rlx_place)(begin & 0x3fffffffu) << 18 |
           (len > 0x3ffffu ? 0x3ffffu : len);
}
RLX_INLINE uint32_t rlx_place_source(rlx_place p)
{
    return (uint32_t)(p >> 48);
} /* 0: none; else index + 1 */
RLX_INLINE uint32_t rlx_place_begin(rlx_place p) { return (uint32_t)(p >> 18) & 0x3fffffffu; }
RLX_INLINE uint32_t rlx_place_len(rlx_place p) { return (uint32_t)p & 0x3ffffu; }

enum {
    RLX_SEVERITY_ERROR = 0,
    RLX_SEVERITY_WARNING = 1,
    RLX_SEVERITY_NOTE = 2,
    RLX_SEVERITY_OFF = 3
};

/* One row of codes.def (table in room format). */
typedef struct rlx_code {
    const char *name;     /* "WF03" */
    uint8_t severity;     /* default */
    int32_t status;       /* relax_status that a failure with this code has */
} rlx_code;

/* further place or note */
typedef struct rlx_label { rlx_place place; const char *text; size_t len; } rlx_label;
typedef struct rlx_diag {
    const rlx_code *code;
    uint8_t severity;
    rlx_place place;
    const char *message; size_t len;
    rlx_label *labels; size_t num_labels;   /* "note: ..." each, place may be none */
    struct rlx_diag *next;
} rlx_diag;

typedef struct rlx_source {
    const char *name; size_t name_len;
    /* text NULL: opaque source of the host; else RLX_TEXT_PADDING zeros follow it */
    const char *text; size_t len;
    uint32_t *lines; size_t num_lines; /* begin of each line, made on first use */
    /* added by a reader, not by the host: may be forgotten when nothing refers to it */
    bool is_read;
} rlx_source;

/* All sources and diagnostics of one context: each source a block of its own, the diagnostics
 * in a region. */
typedef struct rlx_diags {
    rlx_memory *memory;
    rlx_region diag_region;          /* diagnostics; emptied by rlx_diags_clear */
    RLX_VEC(rlx_source *) sources;   /* NULL: forgotten, the number is free */
    rlx_place_groups groups;         /* forgotten when sources are */
    size_t num_free;                 /* such numbers */
    rlx_diag *first, *last;
    size_t num_errors, num_warnings, num_diags;
    size_t num_followers;            /* errors that follow from those reported: rlx_diags_follow */
    const rlx_code *first_error;     /* code of the first error, whether it was kept or not */
    size_t clears;                   /* how often they were forgotten: see rlx_error_mark */
    bool strict;                     /* warnings become errors */
    bool notes;                      /* codes that are notes on request were asked for */
    /* a diagnostic (or anything else) was lost: counts as an error; further ones are only
     * counted */
    bool out_of_memory;
    RLX_VEC(const rlx_code *) muted; /* warnings switched off */
    /* after so many errors further ones are only counted; default 100 */
    size_t max_diags;
    rlx_place otherwise;             /* place of reports that have none: what is being built */
    const rlx_diag *unfinished;      /* the last one, until its notes are complete */
    bool unheard;                    /* what comes is only counted: rlx_diags_begin_unheard */
    /* Called for each as it is finished: when the next one starts, or by rlx_diags_flush. May
     * be NULL. */
    void (*live)(void *user, const rlx_diag *d); void *live_user;
} rlx_diags;

void rlx_diags_init(rlx_diags *d, rlx_memory *m);
void rlx_diags_free(rlx_diags *d);   /* tells nobody: flush first */
void rlx_diags_flush(rlx_diags *d);  /* the last diagnostic is complete: hands it to `live` */
/* diagnostics, counts and out_of_memory; sources and settings stay */
void rlx_diags_clear(rlx_diags *d);
/* An error that surely follows from one reported before is counted and nothing else. */
void rlx_diags_follow(rlx_diags *d);
void rlx_diags_out_of_memory(rlx_diags *d); /* latches out_of_memory and counts one error */
/* Copies name and text. Returns source number (index + 1), 0 when out of memory or over a
 * limit. text NULL: opaque. */
uint32_t rlx_diags_add_source(rlx_diags *d, rlx_slice name, const char *text, size_t len);
/* rlx_diags_add_source for a reader: the source may be forgotten when nothing refers to it. */
uint32_t rlx_diags_add_read_source(rlx_diags *d, rlx_slice name, const char *text, size_t len);
const rlx_source *rlx_diags_source(const rlx_diags *d, uint32_t number);
/* Marks the sources that diagnostics refer to: used[number], as many as there are sources, plus
 * 1. */
void rlx_diags_mark_sources(const rlx_diags *d, bool *used);
/* Forgets the sources of readers that are not marked; their numbers are given out again. */
void rlx_diags_forget_sources(rlx_diags *d, const bool *used);
bool rlx_diags_mute(rlx_diags *d, const rlx_code *code);

/* Between the two nothing is kept of what is reported, and its count is taken back at the end: for
 * attempts that may fail. Running out of memory stays. */
typedef struct rlx_diags_counts {
    size_t errors, warnings, diags;
    const rlx_code *first_error;
    bool unheard;
} rlx_diags_counts;
rlx_diags_counts rlx_diags_begin_unheard(rlx_diags *d);
void rlx_diags_end_unheard(rlx_diags *d, rlx_diags_counts before);

/* Starts a diagnostic. NULL if it was muted (warnings only), over max_diags of its kind, or
 * memory ran out, now or since the last clear (then counted all the same); rlx_diag_note
 * accepts NULL. `code` may be NULL. Text that is not UTF-8 is kept as it is. */
rlx_diag *rlx_diags_report(rlx_diags *d, const rlx_code *code, uint8_t severity, rlx_place place,
                           const char *format, ...) RLX_PRINTF(5, 6);
rlx_diag *rlx_diags_vreport(rlx_diags *d, const rlx_code *code, uint8_t severity, rlx_place place,
                            const char *format, va_list args);
void rlx_diag_note(rlx_diags *d, rlx_diag *diag, rlx_place place, const char *format, ...)
    RLX_PRINTF(4, 5);

/* Are further errors only counted? Then the search for their reasons may be spared. */
RLX_INLINE bool rlx_diags_full(const rlx_diags *d) { return d->num_errors >= d->max_diags; }

/* 1-based line, column in bytes and in characters of a place. False: no place or opaque source.
 * Each out may be NULL. */
bool rlx_diags_locate(rlx_diags *d, rlx_place p, uint32_t *line, uint32_t *column,
                      uint32_t *column_chars);
/* "FILE:LINE:COL" of a place in a text of its own, nothing of others. Lines are counted through
 * and nothing is remembered, so that other readers may be at work. */
void rlx_diags_put_place(const rlx_diags *d, rlx_place p, rlx_buf *out);
/* "FILE:LINE:COL: error[WF03]: message\n" + source line + caret, then each note likewise.
 * Without a place: "FILE: ..." or "error[..]: ...". */
void rlx_diag_render(rlx_diags *d, const rlx_diag *diag, rlx_buf *out, bool with_source_lines);
/* One JSON object: severity, code, message, file, line, column, end_line, end_column (of the
 * first byte after it), notes (message and place each). What is not known is left out; a place
 * in an opaque source is "begin" and "length". */
void rlx_diag_render_json(rlx_diags *d, const rlx_diag *diag, rlx_buf *out);

#endif
