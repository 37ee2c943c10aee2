/* SPDX-License-Identifier: Apache-2.0 */
#include "os/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* Raised by an instruction of the thread itself: blocking them kills it. */
static const int own_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

void tw_library_section_begin(tw_library_section *out)
{
    sigset_t block;
    for (int i = 1; i < NSIG; i++) out->known[i] = sigaction(i, NULL, &out->handlers[i]) == 0;
    sigfillset(&block);
    for (size_t i = 0; i < sizeof own_signals / sizeof *own_signals; i++) sigdelset(&block, own_signals[i]);
    pthread_sigmask(SIG_BLOCK, &block, &out->mask);
}

static bool same_handler(const struct sigaction *a, const struct sigaction *b)
{
    return a->sa_flags == b->sa_flags && a->sa_sigaction == b->sa_sigaction;
}

void tw_library_section_end(const tw_library_section *section)
{
    struct sigaction now;
    for (int i = 1; i < NSIG; i++)
        if (section->known[i] && sigaction(i, NULL, &now) == 0 && !same_handler(&now, &section->handlers[i]))
            sigaction(i, &section->handlers[i], NULL);
    pthread_sigmask(SIG_SETMASK, &section->mask, NULL);
}

tw_status tw_library_load(const char *name, void **out, tw_error *error)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) return tw_fail(error, TW_UNAVAILABLE, "%s", dlerror());
    *out = library;
    return TW_OK;
}

tw_status tw_library_find(void *library, const char *name, const tw_library_symbol *symbols, size_t count, void *table,
                          tw_error *error)
{
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address && !symbols[i].optional)
            return tw_fail(error, TW_UNAVAILABLE, "%s lacks %s: it is too old, or damaged", name, symbols[i].name);
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
    }
    return TW_OK;
}
