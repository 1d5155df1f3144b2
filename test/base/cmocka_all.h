/* cmocka_all.h: cmocka wants these before its own header. */
#ifndef TEST_BASE_CMOCKA_ALL_H
#define TEST_BASE_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#endif
