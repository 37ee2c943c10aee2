/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/worker/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ADDRESS_SPACE = 3 << 10 /* MiB */ };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static void limit(int resource, rlim_t value)
{
    struct rlimit now;
    if (getrlimit(resource, &now)) return;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value) value = now.rlim_max;
    setrlimit(resource, &(struct rlimit){value, value});
}

/* ---- system calls ---- */

/* Allowed as they are. */
static const uint16_t allowed[] = {
    SYS_read, SYS_write, SYS_poll, SYS_ppoll, SYS_close, SYS_lseek, SYS_fstat, SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk,
    SYS_futex, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_getrandom, SYS_clock_gettime,
    SYS_clock_getres, SYS_gettimeofday, SYS_getpid, SYS_gettid, SYS_getrusage, SYS_times, SYS_sysinfo, SYS_getcpu,
    SYS_sched_yield, SYS_sched_getaffinity, SYS_restart_syscall, SYS_exit, SYS_exit_group,
};
enum { ALLOWED = sizeof allowed / sizeof *allowed, FILTER_MAX = 2 * ALLOWED + 24 };

#define LOAD(field) (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS_EQUAL(value, skip) (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define SKIP_IF_SET(bits, skip) (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (skip), 0)
#define ANSWER(value) (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (value))

static unsigned make_filter(struct sock_filter *f)
{
    unsigned n = 0;
    f[n++] = LOAD(arch);
    f[n++] = SKIP_UNLESS_EQUAL(AUDIT_ARCH_X86_64, 1);
    f[n++] = LOAD(nr);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* other ABIs' numbers */
    f[n++] = ANSWER(SECCOMP_RET_ERRNO | EPERM);
    for (unsigned i = 0; i < ALLOWED; i++) {
        f[n++] = SKIP_UNLESS_EQUAL(allowed[i], 1);
        f[n++] = ANSWER(SECCOMP_RET_ALLOW);
    }
    static const uint16_t mapping[] = {SYS_mmap, SYS_mprotect}; /* but not executable: their third argument */
    for (unsigned i = 0; i < 2; i++) {
        f[n++] = SKIP_UNLESS_EQUAL(mapping[i], 3);
        f[n++] = LOAD(args[2]);
        f[n++] = SKIP_IF_SET(PROT_EXEC, 1);
        f[n++] = ANSWER(SECCOMP_RET_ALLOW);
        f[n++] = LOAD(nr);
    }
    f[n++] = SKIP_UNLESS_EQUAL(SYS_tgkill, 3); /* abort() signals ourselves */
    f[n++] = LOAD(args[0]);
    f[n++] = SKIP_UNLESS_EQUAL((uint32_t)getpid(), 1);
    f[n++] = ANSWER(SECCOMP_RET_ALLOW);
    f[n++] = ANSWER(SECCOMP_RET_ERRNO | EPERM);
    return n;
}

static bool filtered; /* of this process, for tw_worker_escape */

static void filter_calls(void)
{
    struct sock_filter filter[FILTER_MAX];
    struct sock_fprog program = {.filter = filter};
    program.len = (unsigned short)make_filter(filter);
    filtered = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0; /* where there is none, the limits have to do */
}

void tw_worker_confine(void)
{
    close_range(3, ~0u, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, 3);
    limit(RLIMIT_CPU, TW_WORKER_CPU_SECONDS);
    if (SANITIZED) return;
    limit(RLIMIT_AS, (rlim_t)ADDRESS_SPACE << 20);
    filter_calls();
}

/* ---- does it hold? ---- */

static bool can_map_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static bool can_make_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED || mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool can_fork(void)
{
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, NULL, 0);
    return child >= 0;
}

static bool can_execute(void)
{
    char *const argv[] = {"true", NULL};
    return execv("/bin/true", argv) == 0 || errno != EPERM;
}

const char *tw_worker_escape(void)
{
    if (open("/dev/null", O_RDONLY) >= 0) return "it can open a file";
    if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0) return "it can make a socket";
    if (!filtered) return NULL; /* nothing more was promised */
    if (can_map_code() || can_make_code()) return "it can make memory executable";
    if (can_fork()) return "it can start a process";
    if (can_execute()) return "it can start a program";
    if (kill(getppid(), 0) == 0) return "it can signal another process";
    return NULL;
}
