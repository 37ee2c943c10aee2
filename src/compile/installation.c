/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/installation.h"

#include <cpuid.h>
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kernel_abi.h"

#ifndef TW_LIBEXEC_DIR
#define TW_LIBEXEC_DIR "/usr/local/libexec/tensorwasm"
#endif

/* From the folder of the library or program: beside it (build tree), bin or lib, lib/<triplet>. */
static const char *const places[] = {"libexec/tensorwasm", "../libexec/tensorwasm", "../../libexec/tensorwasm"};

static bool is_there(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static bool try_path(char *out, size_t size, const char *folder, const char *place)
{
    int length = snprintf(out, size, "%s%s%s/tensor-wasm-compile", folder, *place ? "/" : "", place);
    return length > 0 && (size_t)length < size && is_there(out);
}

/* The folder of the file that this code was loaded from. */
static bool own_folder(char out[PATH_MAX])
{
    Dl_info info;
    char resolved[PATH_MAX];
    if (!dladdr((const void *)(uintptr_t)tw_worker_find, &info) || !info.dli_fname) return false;
    const char *file = strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe"; /* a program found by PATH */
    if (!realpath(file, resolved)) return false;
    snprintf(out, PATH_MAX, "%s", dirname(resolved));
    return true;
}

bool tw_worker_find(char *out, size_t size)
{
    char folder[PATH_MAX];
    if (own_folder(folder))
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            if (try_path(out, size, folder, places[i])) return true;
    return try_path(out, size, TW_LIBEXEC_DIR, "");
}

/* FNV-1a over what CPUID says of the processor: its model and its features. */
static uint64_t processor(void)
{
    static const unsigned leaves[][2] = {{0, 0}, {1, 0}, {7, 0}, {7, 1}, {0xD, 0}, {0x80000001, 0}, {0x80000008, 0}};
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        unsigned r[4] = {0};
        __get_cpuid_count(leaves[i][0], leaves[i][1], &r[0], &r[1], &r[2], &r[3]);
        if (leaves[i][0] == 1) r[1] = 0;                       /* which core this runs on */
        if (leaves[i][0] == 1) r[2] &= ~(1u << 27);            /* OSXSAVE is shown by leaf D */
        if (leaves[i][0] == 0xD) r[1] = 0;                     /* what the system has switched on just now */
        for (int k = 0; k < 4; k++) hash = (hash ^ r[k]) * 0x100000001b3u;
    }
    return hash;
}

bool tw_worker_describe(const char *path, char *out, size_t size)
{
    struct stat status;
    if (stat(path, &status)) return false;
    int length = snprintf(out, size, "kernel abi %d, %s of %lld bytes at %lld.%09ld, processor %016llx", TW_KERNEL_ABI, path,
                          (long long)status.st_size, (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                          (unsigned long long)processor());
    return length > 0 && (size_t)length < size;
}
