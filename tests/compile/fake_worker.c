/* SPDX-License-Identifier: Apache-2.0 */
/* A compile worker that does what the last part of its name says. */
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/kernel_abi.h"
#include "compile/protocol.h"

static void read_question(void)
{
    tw_frame frame;
    char piece[4096];
    if (read(0, &frame, sizeof frame) != sizeof frame) exit(0);
    for (uint32_t left = frame.size; left;) {
        ssize_t got = read(0, piece, left < sizeof piece ? left : sizeof piece);
        if (got <= 0) exit(0);
        left -= (uint32_t)got;
    }
}

static void put(const void *data, size_t size)
{
    if (write(1, data, size) != (ssize_t)size) exit(0);
}

static void put_frame(uint32_t magic, uint32_t kind, uint32_t size)
{
    tw_frame frame = {magic, kind, size};
    put(&frame, sizeof frame);
}

/* 64 bytes of code that returns 0, with `change` made to the information. */
static void put_kernel(void (*change)(tw_kernel_info *info))
{
    uint8_t code[64] = {0x31, 0xC0, 0xC3};
    tw_kernel_info info = {.abi = TW_KERNEL_ABI, .code_size = sizeof code};
    if (change) change(&info);
    put_frame(TW_ANSWER_MAGIC, 0, sizeof info + sizeof code);
    put(&info, sizeof info);
    put(code, sizeof code);
}

static void other_abi(tw_kernel_info *info) { info->abi++; }
static void other_size(tw_kernel_info *info) { info->code_size++; }
static void other_entry(tw_kernel_info *info) { info->entry = info->code_size; }
static void unterminated(tw_kernel_info *info) { memset(info->schedule, 'x', sizeof info->schedule); }

/* As a real one would die, also where a sanitizer would rather report it. */
static void crash(void)
{
    signal(SIGSEGV, SIG_DFL);
    signed volatile *nowhere = NULL;
    *nowhere = 1;
}

static void do_it(const char *what)
{
    if (!strcmp(what, "crash")) crash();
    else if (!strcmp(what, "abort")) abort();
    else if (!strcmp(what, "leave")) exit(3);
    else if (!strcmp(what, "silent")) pause();
    else if (!strcmp(what, "slow")) {
        for (int i = 0; i < 1000; i++) put("T", 1), usleep(100000);
    } else if (!strcmp(what, "garbage")) put("Segmentation fault, said the program, and went on", 48);
    else if (!strcmp(what, "status")) put_frame(TW_ANSWER_MAGIC, 4711, 0);
    else if (!strcmp(what, "huge")) put_frame(TW_ANSWER_MAGIC, 0, UINT32_MAX), pause();
    else if (!strcmp(what, "hugereason")) put_frame(TW_ANSWER_MAGIC, 1, 100000), pause();
    else if (!strcmp(what, "cut")) put_frame(TW_ANSWER_MAGIC, 0, 1000), put("half", 4), exit(0);
    else if (!strcmp(what, "tiny")) put_frame(TW_ANSWER_MAGIC, 0, 3), put("abc", 3);
    else if (!strcmp(what, "abi")) put_kernel(other_abi);
    else if (!strcmp(what, "size")) put_kernel(other_size);
    else if (!strcmp(what, "entry")) put_kernel(other_entry);
    else if (!strcmp(what, "unterminated")) put_kernel(unterminated);
    else if (!strcmp(what, "memory")) put_frame(TW_ANSWER_MAGIC, 2, 13), put("out of memory", 13);
    else if (!strcmp(what, "once")) put_kernel(NULL), exit(0);
}

int main(int argc, char **argv)
{
    (void)argc;
    const char *what = strrchr(argv[0], '-');
    if (!what) return 2;
    if (!strcmp(what + 1, "deaf")) pause();
    for (;;) {
        read_question();
        do_it(what + 1);
    }
}
