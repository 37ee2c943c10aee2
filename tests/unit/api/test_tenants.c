/* SPDX-License-Identifier: Apache-2.0 */
/* What a tenant has is counted and bounded: memories, images of data and buffers together, each tenant for itself, until the last of
 * it is gone. Expected sizes are the modules' own, in pages. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/embedder.h"
#include "tensorwasm/buffer.h"

#define PAGE UINT64_C(65536)
enum { ALICE = 7, BOB = 8 };

static const char *const text =
    "(module (memory (export \"memory\") 2 40) (data (i32.const 70000) \"some data\")"
    "(func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0)))"
    "(func (export \"size\") (result i32) (memory.size)))";

static tw_tenant_usage usage_of(tw_tenant_id tenant)
{
    tw_tenant_usage usage = TW_TENANT_USAGE_INIT;
    OK(tw_tenant_get_usage(tenant, &usage, &error));
    return usage;
}

static tw_spawn_options of(tw_tenant_id tenant)
{
    tw_spawn_options options = usual();
    options.tenant = tenant;
    return options;
}

static void has(tw_tenant_id tenant, uint64_t memories, uint64_t images, uint64_t buffers)
{
    tw_tenant_usage usage = usage_of(tenant);
    if (usage.memories != memories || usage.images != images || usage.buffers != buffers)
        fail_msg("tenant %llu has %llu, %llu, %llu", (unsigned long long)tenant, (unsigned long long)usage.memories,
                 (unsigned long long)usage.images, (unsigned long long)usage.buffers);
}

static int32_t result_of(tw_module *module, tw_instance *instance, const char *name, int32_t argument)
{
    tw_val results[4];
    OK(call(instance, module, name, argument, results));
    return results[0].of.i32;
}

static void memories_count_while_they_live(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(text);
    tw_spawn_options alice = of(ALICE), bob = of(BOB);
    tw_instance *a = spawn(module, &alice), *b = spawn(module, &bob);
    has(ALICE, 2 * PAGE, 0, 0);
    has(BOB, 2 * PAGE, 0, 0);
    assert_int_equal(result_of(module, a, "grow", 3), 2);
    has(ALICE, 5 * PAGE, 0, 0);
    has(BOB, 2 * PAGE, 0, 0);
    tw_module_free(module); /* the instances keep what they need */
    tw_instance_free(a);
    has(ALICE, 0, 0, 0);
    tw_instance_free(b);
    has(BOB, 0, 0, 0);
}

/* One image for all of a tenant's instances of a module. */
static void images_count_once(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(text);
    tw_spawn_options alice = of(ALICE), bob = of(BOB);
    tw_instance_pool *pool = pool_of(module, &alice), *other = pool_of(module, &bob);
    tw_instance *a = take(pool), *b = take(pool), *c = take(other);
    has(ALICE, 4 * PAGE, 4096, 0); /* the data lie in one page of the host's */
    has(BOB, 2 * PAGE, 4096, 0);
    assert_int_equal(result_of(module, a, "grow", 7), 2);
    has(ALICE, 11 * PAGE, 4096, 0);
    tw_instance_pool_give(pool, a); /* reset: its size, too */
    has(ALICE, 4 * PAGE, 4096, 0);
    tw_instance_free(b);
    tw_instance_pool_free(pool);
    has(ALICE, 0, 4096, 0); /* the module keeps it for the next */
    tw_module_free(module);
    tw_instance_pool_free(other);
    has(ALICE, 0, 4096, 0); /* Bob's instance keeps the module */
    tw_instance_free(c);
    has(ALICE, 0, 0, 0);
    has(BOB, 0, 0, 0);
}

static void a_limit_holds_for_all_of_it_together(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(text);
    tw_spawn_options alice = of(ALICE), bob = of(BOB);
    tw_devices *devices;
    tw_buffer *buffer;
    tw_buffer_options options = TW_BUFFER_OPTIONS_INIT;
    options.tenant = ALICE;
    OK(tw_devices_open(NULL, &devices, &error));
    OK(tw_tenant_limit(ALICE, 5 * PAGE, &error));
    assert_int_equal(usage_of(ALICE).limit, 5 * PAGE);
    tw_instance *a = spawn(module, &alice), *b = spawn(module, &bob);
    assert_int_equal(result_of(module, a, "grow", 4), -1); /* 6 pages */
    assert_int_equal(result_of(module, a, "size", 0), 2);
    assert_int_equal(result_of(module, b, "grow", 4), 2); /* who has no limit */
    OK(tw_buffer_new(devices, &options, PAGE, &buffer, &error));
    has(ALICE, 2 * PAGE, 0, PAGE);
    tw_instance *c = NULL;
    OK(tw_instance_spawn(module, &alice, &c, &error)); /* 5 pages: just so */
    tw_buffer *more;
    assert_int_equal(tw_buffer_new(devices, &options, 1, &more, &error), TW_LIMIT);
    assert_non_null(strstr(error.message, "tenant 7"));
    tw_instance *d = NULL;
    assert_int_equal(tw_instance_spawn(module, &alice, &d, &error), TW_LIMIT);
    assert_null(d);
    assert_non_null(strstr(error.message, "tenant 7"));
    has(ALICE, 4 * PAGE, 0, PAGE); /* a refusal takes nothing */
    tw_buffer_free(buffer);
    assert_int_equal(result_of(module, c, "grow", 1), 2);
    OK(tw_tenant_limit(ALICE, 1, &error)); /* less than it has: it keeps that, and gets no more */
    assert_int_equal(result_of(module, c, "size", 0), 3);
    assert_int_equal(result_of(module, c, "grow", 0), 3);
    assert_int_equal(result_of(module, c, "grow", 1), -1);
    OK(tw_tenant_limit(ALICE, 0, &error));
    assert_int_equal(result_of(module, c, "grow", 1), 3);
    tw_instance_free(a), tw_instance_free(b), tw_instance_free(c);
    tw_devices_close(devices);
    tw_module_free(module);
    has(ALICE, 0, 0, 0);
}

/* An image has no room: there is no pool's instance, since there would be nothing to reset it from. */
static void an_image_over_the_limit_is_a_limit(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(text);
    tw_spawn_options alice = of(ALICE);
    tw_instance_pool *pool = pool_of(module, &alice);
    tw_instance *instance = NULL;
    OK(tw_tenant_limit(ALICE, 2 * PAGE + 4095, &error));
    assert_int_equal(tw_instance_pool_take(pool, &instance, &error), TW_LIMIT);
    assert_non_null(strstr(error.message, "tenant 7"));
    assert_null(instance);
    has(ALICE, 0, 0, 0);
    OK(tw_tenant_limit(ALICE, 2 * PAGE + 4096, &error));
    instance = take(pool);
    has(ALICE, 2 * PAGE, 4096, 0);
    tw_instance_free(instance);
    OK(tw_tenant_limit(ALICE, 0, &error));
    tw_instance_pool_free(pool);
    tw_module_free(module);
    has(ALICE, 0, 0, 0);
}

typedef struct crowd {
    tw_module *module;
    uint64_t most;
    bool failed;
} crowd;

static void *spawn_and_free(void *given)
{
    crowd *c = given;
    for (int i = 0; i < 200; i++) {
        tw_spawn_options options = of(ALICE);
        tw_instance *instance;
        tw_error why;
        tw_status status = tw_instance_spawn(c->module, &options, &instance, &why);
        tw_tenant_usage usage = TW_TENANT_USAGE_INIT;
        tw_tenant_get_usage(ALICE, &usage, NULL);
        if ((status && status != TW_LIMIT) || usage.memories > c->most) c->failed = true;
        if (!status) tw_instance_free(instance);
    }
    return NULL;
}

static void threads_never_exceed_it(void **state)
{
    (void)state;
    use_handlers();
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    crowd c = {module_of(text), 5 * PAGE, false};
    OK(tw_tenant_limit(ALICE, c.most, &error));
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, spawn_and_free, &c);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_false(c.failed);
    OK(tw_tenant_limit(ALICE, 0, &error));
    tw_module_free(c.module);
    has(ALICE, 0, 0, 0);
}

static void sizes_are_read_with_care(void **state)
{
    (void)state;
    struct { tw_tenant_usage usage; uint64_t behind; } newer = {.usage = {.size = sizeof newer}, .behind = 5};
    tw_tenant_usage older = {.size = 2 * sizeof(uint64_t), .images = 5};
    OK(tw_tenant_get_usage(ALICE, &newer.usage, &error));
    assert_int_equal(newer.behind, 5);
    OK(tw_tenant_get_usage(ALICE, &older, &error));
    assert_int_equal(older.images, 5);
    assert_int_equal(tw_tenant_get_usage(ALICE, NULL, &error), TW_INVALID_ARGUMENT);
    older.size = 0;
    assert_int_equal(tw_tenant_get_usage(ALICE, &older, &error), TW_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memories_count_while_they_live),
        cmocka_unit_test(images_count_once),
        cmocka_unit_test(a_limit_holds_for_all_of_it_together),
        cmocka_unit_test(an_image_over_the_limit_is_a_limit),
        cmocka_unit_test(threads_never_exceed_it),
        cmocka_unit_test(sizes_are_read_with_care),
    };
    return cmocka_run_group_tests(tests, plain_set_up, plain_tear_down);
}
