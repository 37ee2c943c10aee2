/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kcache/kcache.h"

/* mov eax, imm32; ret: a kernel that says which one it is. */
static void code_for(int32_t answer, uint8_t code[64], tw_kernel_info *info)
{
    memset(code, 0xCC, 64);
    code[0] = 0xB8;
    memcpy(code + 1, &answer, 4);
    code[5] = 0xC3;
    *info = (tw_kernel_info){.abi = TW_KERNEL_ABI, .code_size = 64, .lanes = 1, .schedule = "a test"};
}

static int32_t ask(const tw_kernel *kernel)
{
#if defined(__x86_64__)
    return tw_kernel_entry_of(kernel)(NULL, 0, 1);
#else
    int32_t answer;
    memcpy(&answer, (const uint8_t *)(uintptr_t)tw_kernel_entry_of(kernel) + 1, 4);
    return answer;
#endif
}

static tw_kcache_key key_of(uint64_t tenant, const char *request)
{
    return (tw_kcache_key){.tenant = tenant, .identity = "test 1 x86-64", .request = request, .request_size = strlen(request)};
}

static tw_kcache *open_cache(const char *directory)
{
    tw_kcache_options options = {.directory = directory};
    tw_kcache *cache;
    assert_int_equal(tw_kcache_new(&options, &cache, NULL), TW_OK);
    return cache;
}

static void compile(tw_kcache *cache, tw_kcache_key key, int32_t answer)
{
    tw_kernel *kernel;
    bool claimed;
    uint8_t code[64];
    tw_kernel_info info;
    assert_int_equal(tw_kcache_get(cache, &key, true, &kernel, &claimed, NULL), TW_OK);
    assert_true(claimed);
    assert_int_equal(tw_kernel_state_of(kernel), TW_KERNEL_COMPILING);
    code_for(answer, code, &info);
    tw_kernel_finish(kernel, &info, code);
    assert_int_equal(tw_kernel_state_of(kernel), TW_KERNEL_READY);
    assert_int_equal(ask(kernel), answer);
    tw_kernel_unref(kernel);
}

/* -1: not there. */
static int32_t lookup(tw_kcache *cache, tw_kcache_key key)
{
    tw_kernel *kernel;
    bool claimed;
    assert_int_equal(tw_kcache_get(cache, &key, false, &kernel, &claimed, NULL), TW_OK);
    assert_false(claimed);
    if (!kernel) return -1;
    assert_int_equal(tw_kernel_state_of(kernel), TW_KERNEL_READY);
    int32_t answer = ask(kernel);
    tw_kernel_unref(kernel);
    return answer;
}

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/tw-kcache-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void path_of(const char *name, char path[400])
{
    snprintf(path, 400, "%s/%s", folder, name);
}

/* The one file whose name begins with k and isn't the key. */
static void kernel_file(char path[400])
{
    DIR *all = opendir(folder);
    assert_non_null(all);
    path[0] = 0;
    for (struct dirent *entry; (entry = readdir(all));)
        if (entry->d_name[0] == 'k' && strcmp(entry->d_name, "key")) path_of(entry->d_name, path);
    closedir(all);
}

static size_t read_file(const char *path, uint8_t *data, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(data, 1, capacity, file);
    fclose(file);
    return size;
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, data, size), size);
    close(file);
}

/* ---- memory ---- */

static void an_accepted_region_is_an_entry_before_it_has_code(void **state)
{
    (void)state;
    tw_kcache *cache = open_cache(NULL);
    assert_true(tw_kcache_is_empty(cache));
    tw_region_id a, b;
    tw_region_identify("a", 1, &a);
    tw_region_identify("b", 1, &b);
    tw_kcache_accept(cache, 1, &a);
    tw_kcache_accept(cache, 1, &a);
    assert_false(tw_kcache_is_empty(cache));
    assert_int_equal(tw_kcache_size(cache, 1), 1);
    assert_int_equal(tw_kcache_size(cache, 2), 0);
    tw_kcache_accept(cache, 2, &a);
    tw_kcache_accept(cache, 1, &b);
    assert_int_equal(tw_kcache_size(cache, 1), 2);
    assert_int_equal(tw_kcache_size(cache, 2), 1);
    for (uint32_t i = 0; i < 1000; i++) {
        tw_region_identify(&i, sizeof i, &a);
        tw_kcache_accept(cache, 3, &a);
    }
    assert_int_equal(tw_kcache_size(cache, 3), 1000);
    tw_kcache_stats stats;
    tw_kcache_get_stats(cache, &stats);
    assert_int_equal(stats.entries, 1003);
    assert_int_equal(stats.kernels, 0);
    tw_kcache_unref(cache);
}

static void a_kernel_is_found_by_its_whole_key_only(void **state)
{
    (void)state;
    tw_kcache *cache = open_cache(NULL);
    compile(cache, key_of(1, "model facts"), 42);
    assert_int_equal(lookup(cache, key_of(1, "model facts")), 42);
    assert_int_equal(lookup(cache, key_of(2, "model facts")), -1); /* another tenant's */
    assert_int_equal(lookup(cache, key_of(1, "model fact")), -1);
    tw_kcache_key other = key_of(1, "model facts");
    other.identity = "test 2 x86-64";
    assert_int_equal(lookup(cache, other), -1);
    tw_kcache_stats stats;
    tw_kcache_get_stats(cache, &stats);
    assert_int_equal(stats.kernels, 1);
    assert_int_equal(stats.bytes, 64);
    assert_int_equal(stats.hits, 1);
    assert_int_equal(stats.misses, 4);
    tw_kcache_unref(cache);
}

static void only_one_asker_owes_the_code(void **state)
{
    (void)state;
    tw_kcache *cache = open_cache(NULL);
    tw_kernel *first, *second;
    bool claimed;
    tw_kcache_key key = key_of(1, "x");
    tw_kcache_get(cache, &key, true, &first, &claimed, NULL);
    assert_true(claimed);
    tw_kcache_get(cache, &key, true, &second, &claimed, NULL);
    assert_false(claimed);
    assert_ptr_equal(first, second);
    tw_kernel_unref(first);
    tw_kernel_unref(second);
    tw_kcache_unref(cache); /* the claim keeps both alive */
    tw_kernel_fail(first, TW_TERMINATED, "the compiler left");
}

static void a_failure_keeps_its_reason_and_is_final_when_the_request_is_at_fault(void **state)
{
    (void)state;
    tw_kcache *cache = open_cache(NULL);
    for (int k = 0; k < 3; k++) {
        tw_kernel *kernel, *again;
        bool claimed;
        tw_kcache_key key = key_of(1, k == 0 ? "refused" : k == 1 ? "garbage" : "long text");
        tw_kcache_get(cache, &key, true, &kernel, &claimed, NULL);
        if (k == 0) {
            tw_kernel_fail(kernel, TW_REFUSED, "no loop is parallel");
        } else {
            uint8_t code[64];
            tw_kernel_info info;
            code_for(1, code, &info);
            if (k == 1) info.entry = 64;
            else memset(info.schedule, 'x', sizeof info.schedule);
            tw_kernel_finish(kernel, &info, code);
        }
        char reason[200];
        assert_int_equal(tw_kernel_state_of(kernel), TW_KERNEL_FAILED);
        tw_kernel_failure(kernel, reason, sizeof reason);
        assert_non_null(strstr(reason, k == 0 ? "no loop is parallel" : "the kernel's"));
        tw_kcache_get(cache, &key, true, &again, &claimed, NULL);
        assert_false(claimed);
        assert_ptr_equal(again, kernel);
        tw_kernel_unref(again);
        tw_kernel_unref(kernel);
    }
    tw_kcache_unref(cache);
}

static void memory_is_bounded_and_kernels_in_use_stay(void **state)
{
    (void)state;
    tw_kcache_options options = {.max_bytes = 64 * 10};
    tw_kcache *cache;
    assert_int_equal(tw_kcache_new(&options, &cache, NULL), TW_OK);
    compile(cache, key_of(1, "kept"), 7);
    tw_kernel *kept;
    bool claimed;
    tw_kcache_key key = key_of(1, "kept");
    tw_kcache_get(cache, &key, false, &kept, &claimed, NULL);
    for (int i = 0; i < 100; i++) {
        char request[16];
        snprintf(request, sizeof request, "r%d", i);
        compile(cache, key_of(1, request), i);
    }
    tw_kcache_stats stats;
    tw_kcache_get_stats(cache, &stats);
    assert_in_range(stats.bytes, 64, 64 * 10);
    assert_int_equal(stats.bytes, 64 * stats.kernels);
    assert_int_equal(ask(kept), 7);
    assert_int_equal(lookup(cache, key_of(1, "kept")), 7);
    assert_int_equal(lookup(cache, key_of(1, "r99")), 99);
    assert_int_equal(lookup(cache, key_of(1, "r0")), -1);
    tw_kernel_unref(kept);
    tw_kcache_unref(cache);
}

static void *finish_later(void *context)
{
    uint8_t code[64];
    tw_kernel_info info;
    code_for(5, code, &info);
    usleep(30000);
    tw_kernel_finish(context, &info, code);
    return NULL;
}

static void waiting_ends_with_the_code_the_time_or_the_stop_flag(void **state)
{
    (void)state;
    tw_kcache *cache = open_cache(NULL);
    tw_kernel *kernel;
    bool claimed;
    tw_kcache_key key = key_of(1, "x");
    atomic_uint stop = 0, stopped = 1;
    tw_kcache_get(cache, &key, true, &kernel, &claimed, NULL);
    assert_int_equal(tw_kernel_wait(kernel, &stop, 1000000), TW_KERNEL_COMPILING);
    assert_int_equal(tw_kernel_wait(kernel, &stopped, UINT64_MAX), TW_KERNEL_COMPILING);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, finish_later, kernel), 0);
    assert_int_equal(tw_kernel_wait(kernel, &stop, UINT64_MAX), TW_KERNEL_READY);
    pthread_join(thread, NULL);
    assert_int_equal(ask(kernel), 5);
    tw_kernel_unref(kernel);
    tw_kcache_unref(cache);
}

/* ---- disk ---- */

static void kernels_and_lessons_outlive_the_process(void **state)
{
    (void)state;
    tw_region_id region;
    tw_region_identify("r", 1, &region);
    tw_kcache *cache = open_cache(folder);
    assert_null(tw_kcache_disk_refusal(cache));
    compile(cache, key_of(1, "model"), 77);
    tw_learned learned = {.original = 1.5f, .one = 0.5f, .many = 0.25f, .threads = 2, .samples = 3}, got;
    tw_kcache_learn(cache, 1, &region, 20, &learned);
    tw_kcache_unref(cache);
    cache = open_cache(folder);
    assert_int_equal(lookup(cache, key_of(2, "model")), -1);
    assert_int_equal(lookup(cache, key_of(1, "model")), 77);
    assert_true(tw_kcache_recall(cache, 1, &region, 20, &got));
    assert_memory_equal(&got, &learned, sizeof got);
    assert_false(tw_kcache_recall(cache, 1, &region, 21, &got));
    assert_false(tw_kcache_recall(cache, 2, &region, 20, &got));
    tw_kcache_stats stats;
    tw_kcache_get_stats(cache, &stats);
    assert_int_equal(stats.disk_hits, 1);
    assert_int_equal(stats.disk_rejected, 0);
    tw_kcache_unref(cache);
}

/* Every byte of a kernel's file, changed: never run, removed. */
static void a_damaged_file_is_never_run(void **state)
{
    (void)state;
    char path[400];
    static uint8_t good[4096], bad[4096];
    tw_kcache *cache = open_cache(folder);
    compile(cache, key_of(1, "model"), 77);
    tw_kcache_unref(cache);
    kernel_file(path);
    size_t size = read_file(path, good, sizeof good);
    assert_in_range(size, 200, sizeof good - 1);
    for (size_t i = 0; i < size; i++) {
        memcpy(bad, good, size);
        bad[i] ^= (uint8_t)(1u << (i % 8));
        write_file(path, bad, size);
        cache = open_cache(folder);
        assert_int_equal(lookup(cache, key_of(1, "model")), -1);
        tw_kcache_stats stats;
        tw_kcache_get_stats(cache, &stats);
        assert_int_equal(stats.disk_rejected, 1);
        assert_int_equal(access(path, F_OK), -1);
        tw_kcache_unref(cache);
    }
    for (size_t length = 0; length < size; length += 1 + length / 8) {
        write_file(path, good, length);
        cache = open_cache(folder);
        assert_int_equal(lookup(cache, key_of(1, "model")), -1);
        tw_kcache_unref(cache);
    }
    memcpy(bad, good, size);
    write_file(path, bad, size + 1); /* longer */
    cache = open_cache(folder);
    assert_int_equal(lookup(cache, key_of(1, "model")), -1);
    compile(cache, key_of(1, "model"), 78); /* rebuilt */
    tw_kcache_unref(cache);
    cache = open_cache(folder);
    assert_int_equal(lookup(cache, key_of(1, "model")), 78);
    tw_kcache_unref(cache);
}

static void an_authentic_file_under_another_name_is_not_run(void **state)
{
    (void)state;
    char a[400], b[400];
    static uint8_t bytes[4096];
    tw_kcache *cache = open_cache(folder);
    compile(cache, key_of(1, "a"), 1);
    kernel_file(a);
    size_t size = read_file(a, bytes, sizeof bytes);
    assert_int_equal(unlink(a), 0);
    compile(cache, key_of(1, "b"), 2);
    kernel_file(b);
    tw_kcache_unref(cache);
    write_file(b, bytes, size);
    cache = open_cache(folder);
    assert_int_equal(lookup(cache, key_of(1, "b")), -1);
    tw_kcache_unref(cache);
}

static void files_of_another_installation_are_not_run(void **state)
{
    (void)state;
    char key[400];
    uint8_t other[32] = {1, 2, 3};
    tw_kcache *cache = open_cache(folder);
    compile(cache, key_of(1, "model"), 77);
    tw_kcache_unref(cache);
    path_of("key", key);
    write_file(key, other, sizeof other);
    cache = open_cache(folder);
    assert_int_equal(lookup(cache, key_of(1, "model")), -1);
    tw_kcache_unref(cache);
    write_file(key, other, 31); /* a damaged key: a new one */
    cache = open_cache(folder);
    assert_null(tw_kcache_disk_refusal(cache));
    compile(cache, key_of(1, "model"), 79);
    tw_kcache_unref(cache);
    cache = open_cache(folder);
    assert_int_equal(lookup(cache, key_of(1, "model")), 79);
    tw_kcache_unref(cache);
}

static void damaged_lessons_are_forgotten(void **state)
{
    (void)state;
    char path[400];
    static uint8_t good[512], bad[512];
    tw_region_id region;
    tw_region_identify("r", 1, &region);
    tw_learned learned = {.original = 1, .one = 1}, got;
    tw_kcache *cache = open_cache(folder);
    tw_kcache_learn(cache, 1, &region, 5, &learned);
    tw_kcache_unref(cache);
    path_of("learned", path);
    size_t size = read_file(path, good, sizeof good);
    for (size_t i = 0; i < size; i++) {
        memcpy(bad, good, size);
        bad[i] ^= 0x10;
        write_file(path, bad, size);
        cache = open_cache(folder);
        assert_false(tw_kcache_recall(cache, 1, &region, 5, &got));
        tw_kcache_unref(cache);
    }
}

static void assert_no_disk(const char *directory, const char *why)
{
    tw_kcache *cache = open_cache(directory);
    assert_non_null(tw_kcache_disk_refusal(cache));
    assert_non_null(strstr(tw_kcache_disk_refusal(cache), why));
    compile(cache, key_of(1, "model"), 3); /* memory still works */
    tw_kcache_unref(cache);
}

static void a_folder_that_others_may_use_is_not_used(void **state)
{
    (void)state;
    char path[400], target[400], key[400];
    path_of("cache", path);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_no_disk(path, "chmod 700");
    assert_int_equal(chmod(path, 0700), 0);
    path_of("link", target);
    assert_int_equal(symlink(path, target), 0);
    assert_no_disk(target, "not a folder");
    path_of("file", target);
    write_file(target, (const uint8_t *)"", 0);
    assert_no_disk(target, "not a folder");
    path_of("file/below", target);
    assert_no_disk(target, "not a folder");
    assert_no_disk("", "");
    snprintf(key, sizeof key, "%.300s/key", path);
    write_file(key, (const uint8_t *)"0123456789abcdef0123456789abcdef", 32);
    assert_int_equal(chmod(key, 0644), 0);
    assert_no_disk(path, "key");
    assert_int_equal(unlink(key), 0);
    assert_int_equal(symlink("/etc/hostname", key), 0);
    assert_no_disk(path, "key");
}

static void missing_folders_are_made_for_us_alone(void **state)
{
    (void)state;
    char path[400];
    struct stat info;
    path_of("a/b/c/", path);
    tw_kcache *cache = open_cache(path);
    assert_null(tw_kcache_disk_refusal(cache));
    compile(cache, key_of(1, "model"), 3);
    tw_kcache_unref(cache);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    strcat(path, "key");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void the_disk_is_bounded(void **state)
{
    (void)state;
    tw_kcache_options options = {.directory = folder, .max_disk_bytes = 5000};
    tw_kcache *cache;
    assert_int_equal(tw_kcache_new(&options, &cache, NULL), TW_OK);
    for (int i = 0; i < 100; i++) {
        char request[16];
        snprintf(request, sizeof request, "r%d", i);
        compile(cache, key_of(1, request), i);
    }
    tw_kcache_unref(cache);
    DIR *all = opendir(folder);
    off_t total = 0;
    int files = 0;
    for (struct dirent *entry; (entry = readdir(all));) {
        char path[400];
        struct stat info;
        path_of(entry->d_name, path);
        if (!stat(path, &info) && S_ISREG(info.st_mode)) total += info.st_size, files++;
        assert_null(strstr(entry->d_name, "tmp"));
    }
    closedir(all);
    assert_in_range(total, 1000, 5000 + 32);
    assert_in_range(files, 4, 30);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_accepted_region_is_an_entry_before_it_has_code),
        cmocka_unit_test(a_kernel_is_found_by_its_whole_key_only),
        cmocka_unit_test(only_one_asker_owes_the_code),
        cmocka_unit_test(a_failure_keeps_its_reason_and_is_final_when_the_request_is_at_fault),
        cmocka_unit_test(memory_is_bounded_and_kernels_in_use_stay),
        cmocka_unit_test(waiting_ends_with_the_code_the_time_or_the_stop_flag),
        ON_DISK(kernels_and_lessons_outlive_the_process),
        ON_DISK(a_damaged_file_is_never_run),
        ON_DISK(an_authentic_file_under_another_name_is_not_run),
        ON_DISK(files_of_another_installation_are_not_run),
        ON_DISK(damaged_lessons_are_forgotten),
        ON_DISK(a_folder_that_others_may_use_is_not_used),
        ON_DISK(missing_folders_are_made_for_us_alone),
        ON_DISK(the_disk_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
