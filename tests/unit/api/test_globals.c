/* SPDX-License-Identifier: Apache-2.0 */
/* Globals that the host makes: modules import them with every type, segments' places and other globals are made of them as the
 * specification says, and a mutable one is the host's and the guests' together. Expected values are worked out by hand. */
#include "live.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PAGE = 65536 };

static tw_val i32(int32_t value) { return (tw_val){TW_VAL_I32, {.i32 = value}}; }

static tw_global *global_of(tw_val value, bool is_mutable)
{
    tw_global *global;
    OK(tw_global_new(engine, &value, is_mutable, &global, &error));
    return global;
}

static int32_t value_of(tw_global *global)
{
    tw_val value;
    OK(tw_global_get(global, &value, &error));
    assert_int_equal(value.kind, TW_VAL_I32);
    return value.of.i32;
}

static void set(tw_global *global, int32_t value)
{
    tw_val to = i32(value);
    OK(tw_global_set(global, &to, &error));
}

static tw_spawn_options offering(const tw_import_global *globals, size_t count)
{
    tw_spawn_options options = usual();
    options.globals = globals;
    options.global_count = count;
    return options;
}

static tw_status try_spawn_with(tw_module *module, tw_global *global, tw_instance **out)
{
    tw_import_global import = {"env", "g", global};
    tw_spawn_options options = offering(&import, 1);
    return tw_instance_spawn(module, &options, out, &error);
}

static tw_instance *spawn_with(tw_module *module, tw_global *global)
{
    tw_instance *instance;
    OK(try_spawn_with(module, global, &instance));
    return instance;
}

static int32_t result(tw_instance *instance, tw_module *module, const char *name, int32_t argument)
{
    outcome o = outcome_of(instance, module, name, argument);
    if (o.status) fail_msg("%s: %s", name, o.message);
    return o.results[0].of.i32;
}

/* ---- types ---- */

static void every_type_comes_in_bit_for_bit(void **state)
{
    (void)state;
    use_handlers();
    tw_val values[] = {i32(-7), {TW_VAL_I64, {.i64 = INT64_MIN + 5}}, {TW_VAL_F32, {.i32 = 0x7fa00001}}, {TW_VAL_F64, {.i64 = 0x7ff4000000000123}},
                       {TW_VAL_V128, {.v128 = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255}}}, {TW_VAL_FUNCREF, {.i64 = 0}}};
    static const char *const types[] = {"i32", "i64", "f32", "f64", "v128", "funcref"};
    for (int i = 0; i < 11; i++) {
        char text[300];
        const char *type = types[i / 2];
        bool is_mutable = i % 2;
        if (is_mutable) snprintf(text, sizeof text, "(module (import \"env\" \"g\" (global $g (mut %s))) (func (export \"get\") (result %s) (global.get $g)))", type, type);
        else snprintf(text, sizeof text, "(module (import \"env\" \"g\" (global $g %s)) (global $h %s (global.get $g)) (func (export \"get\") (result %s) (global.get $h)))", type, type, type);
        tw_module *module = module_of(text);
        tw_global *global = global_of(values[i / 2], is_mutable);
        tw_instance *instance = spawn_with(module, global);
        outcome o = outcome_of(instance, module, "get", 0);
        assert_int_equal(o.status, TW_OK);
        assert_int_equal(o.results[0].kind, values[i / 2].kind);
        assert_memory_equal(&o.results[0].of, &values[i / 2].of, i / 2 == 4 ? 16 : i / 2 == 0 || i / 2 == 2 ? 4 : 8);
        tw_global_free(global);
        tw_instance_free(instance);
        tw_module_free(module);
    }
}

static void what_cant_be_is_refused(void **state)
{
    (void)state;
    use_handlers();
    tw_global *global;
    tw_val null = {TW_VAL_FUNCREF, {.i64 = 0}}, some = {TW_VAL_FUNCREF, {.i64 = 1}}, none = {(tw_val_kind)99, {.i64 = 0}}, value = i32(1);
    assert_int_equal(tw_global_new(engine, &null, true, &global, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_global_new(engine, &some, false, &global, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_global_new(engine, &none, false, &global, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_global_new(engine, NULL, false, &global, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_global_new(NULL, &value, false, &global, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_global_new(engine, &value, false, NULL, &error), TW_INVALID_ARGUMENT);
    global = global_of(i32(1), false);
    assert_int_equal(tw_global_set(global, &value, &error), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "immutable"));
    assert_int_equal(tw_global_get(global, NULL, &error), TW_INVALID_ARGUMENT);
    tw_global_free(global);
    tw_val wide = {TW_VAL_I64, {.i64 = 1}};
    global = global_of(i32(1), true);
    assert_int_equal(tw_global_set(global, &wide, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(value_of(global), 1);
    tw_global_free(global);
    tw_global_free(NULL);
}

static void what_doesnt_match_the_import_is_named(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (import \"env\" \"g\" (global i32)))"), *changing = module_of("(module (import \"env\" \"g\" (global (mut i32))))");
    tw_global *fixed = global_of(i32(1), false), *variable = global_of(i32(1), true), *wide = global_of((tw_val){TW_VAL_I64, {.i64 = 1}}, false);
    tw_instance *instance;
    tw_spawn_options options = usual();
    assert_int_equal(tw_instance_spawn(module, &options, &instance, &error), TW_LINK);
    assert_non_null(strstr(error.message, "\"env\".\"g\" is a global, immutable i32, that isn't offered by anyone: its host makes it (tw_global_new)"));
    assert_int_equal(try_spawn_with(module, variable, &instance), TW_LINK);
    assert_non_null(strstr(error.message, "that is offered as a mutable one"));
    assert_int_equal(try_spawn_with(changing, fixed, &instance), TW_LINK);
    assert_non_null(strstr(error.message, "\"env\".\"g\" is a global, mutable i32, that is offered as an immutable one"));
    assert_int_equal(try_spawn_with(module, wide, &instance), TW_LINK);
    assert_non_null(strstr(error.message, "with another type"));
    assert_int_equal(try_spawn_with(module, NULL, &instance), TW_INVALID_ARGUMENT);
    tw_module *holding = module_of("(module (import \"env\" \"g\" (global (mut funcref))))");
    assert_int_equal(try_spawn_with(holding, variable, &instance), TW_LINK);
    assert_non_null(strstr(error.message, "mutable funcref, that no host can make"));
    tw_global_free(fixed), tw_global_free(variable), tw_global_free(wide);
    tw_module_free(module), tw_module_free(changing), tw_module_free(holding);
}

/* ---- the order of instantiation ---- */

/* What a module does with a place that is imported, in each of the forms that a module is compiled in. */
typedef enum form { PLAIN, OFFLOADING, CAPTURABLE, FORMS } form;

typedef struct world { /* a memory of 2 pages and a global */
    tw_memory *memory;
    tw_global *global;
} world;

static world world_of(int32_t place)
{
    tw_memory_options options = TW_MEMORY_OPTIONS_INIT;
    world w = {NULL, global_of(i32(place), false)};
    options.bytes = 2 * PAGE;
    OK(tw_memory_new(engine, &options, &w.memory, &error));
    return w;
}

static tw_status begin_in(const world *w, tw_module *module, form f, tw_instance **out)
{
    tw_import_memory memory = {"env", "m", w->memory};
    tw_import_global global = {"env", "g", w->global};
    tw_spawn_options options = TW_SPAWN_OPTIONS_INIT;
    options.kernel_cache = f == PLAIN ? NULL : cache;
    options.capturable = f == CAPTURABLE;
    options.memories = &memory, options.memory_count = 1;
    options.globals = &global, options.global_count = 1;
    return tw_instance_spawn(module, &options, out, &error);
}

static void end(world *w)
{
    tw_memory_free(w->memory);
    tw_global_free(w->global);
}

#define HEAD "(module (import \"env\" \"m\" (memory 2)) (import \"env\" \"g\" (global $g i32)) "

typedef struct placed {
    const char *text;
    int32_t place;
    tw_status status;
    struct { uint32_t at; char text[8]; } there[4]; /* what the memory then holds */
} placed;

static const placed placements[] = {
    /* the place itself, and what is computed from it, modulo 2^32 */
    {HEAD "(data (global.get $g) \"ab\"))", 1000, TW_OK, {{1000, "ab"}}},
    {HEAD "(data (i32.add (global.get $g) (i32.const 24)) \"ab\"))", 1000, TW_OK, {{1024, "ab"}}},
    {HEAD "(data (i32.sub (i32.mul (global.get $g) (global.get $g)) (i32.const 1)) \"ab\"))", 9, TW_OK, {{80, "ab"}}},
    {HEAD "(data (i32.add (global.get $g) (i32.const 3)) \"ab\"))", -1, TW_OK, {{2, "ab"}}},
    {HEAD "(data (i32.mul (global.get $g) (i32.const 65536)) \"ab\"))", 0x10000, TW_OK, {{0, "ab"}}},
    /* later ones go over earlier ones */
    {HEAD "(data (global.get $g) \"abcd\") (data (i32.add (global.get $g) (i32.const 1)) \"xy\"))", 50, TW_OK, {{50, "axyd"}}},
    /* the last byte, the end, behind the end */
    {HEAD "(data (global.get $g) \"ab\"))", 2 * PAGE - 2, TW_OK, {{2 * PAGE - 2, "ab"}}},
    {HEAD "(data (global.get $g) \"ab\"))", 2 * PAGE - 1, TW_TRAP, {{0, ""}}},
    {HEAD "(data (global.get $g) \"\"))", 2 * PAGE, TW_OK, {{0, ""}}},
    {HEAD "(data (global.get $g) \"\"))", 2 * PAGE + 1, TW_TRAP, {{0, ""}}},
    {HEAD "(data (global.get $g) \"a\"))", -1, TW_TRAP, {{0, ""}}},
    /* those before the one that doesn't fit are there, the one and those behind it aren't */
    {HEAD "(data (i32.const 8) \"one\") (data (global.get $g) \"two\") (data (i32.const 16) \"three\"))", 2 * PAGE - 2, TW_TRAP, {{8, "one"}, {16, ""}, {2 * PAGE - 2, ""}}},
    {HEAD "(data (i32.const 8) \"one\") (data (global.get $g) \"two\") (data (i32.const 16) \"three\"))", 12, TW_OK, {{8, "one"}, {12, "two"}, {16, "three"}}},
    /* elements come before data, wherever they stand */
    {HEAD "(table 4 funcref) (data (i32.const 8) \"one\") (elem (global.get $g) $f) (func $f))", 4, TW_TRAP, {{8, ""}}},
    {HEAD "(table 4 funcref) (data (i32.const 8) \"one\") (elem (global.get $g) $f) (func $f))", 3, TW_OK, {{8, "one"}}},
    {HEAD "(table 4 funcref) (elem (i32.add (global.get $g) (i32.const 2)) $f $f) (data (i32.const 8) \"one\") (func $f))", 1, TW_TRAP, {{8, ""}}},
    /* the start function comes last, and not at all after a trap */
    {HEAD "(data (global.get $g) \"abc\") (start $s) (func $s (i32.store8 (global.get $g) (i32.const 88))))", 70, TW_OK, {{70, "Xbc"}}},
    {HEAD "(data (i32.const 8) \"one\") (data (global.get $g) \"abc\") (start $s) (func $s (i32.store8 (i32.const 8) (i32.const 88))))", -4, TW_TRAP, {{8, "one"}}},
    {HEAD "(data (global.get $g) \"abc\") (start $s) (func $s (unreachable)))", 70, TW_TRAP, {{70, "abc"}}},
    /* passive segments stay, active ones have been dropped */
    {HEAD "(data $p \"later\") (start $s) (func $s (memory.init $p (global.get $g) (i32.const 1) (i32.const 3))))", 90, TW_OK, {{90, "ate"}}},
    {HEAD "(data $p \"later\") (start $s) (func $s (data.drop $p) (memory.init $p (global.get $g) (i32.const 0) (i32.const 0)) (memory.init $p (global.get $g) (i32.const 0) (i32.const 1))))", 90, TW_TRAP, {{90, ""}}},
    {HEAD "(data $a (global.get $g) \"now\") (start $s) (func $s (memory.init $a (i32.const 5) (i32.const 0) (i32.const 1))))", 90, TW_TRAP, {{90, "now"}, {5, ""}}},
};

static void segments_lie_where_imported_globals_say(void **state)
{
    (void)state;
    use_handlers();
    for (size_t i = 0; i < sizeof placements / sizeof *placements; i++) {
        const placed *p = &placements[i];
        tw_module *module = module_of(p->text);
        for (form f = PLAIN; f < FORMS; f++) {
            world w = world_of(p->place);
            tw_instance *instance = NULL;
            tw_status status = begin_in(&w, module, f, &instance);
            if (status != p->status) fail_msg("%zu, form %d: %s", i, f, status ? error.message : "no trap");
            size_t size;
            const char *memory = (const char *)tw_memory_data(w.memory, &size);
            for (int k = 0; k < 4; k++) {
                size_t length = strlen(p->there[k].text);
                if (memcmp(memory + p->there[k].at, p->there[k].text, length) || (!length && p->there[k].at && memory[p->there[k].at]))
                    fail_msg("%zu, form %d: other bytes at %u", i, f, p->there[k].at);
            }
            if (status == TW_OK) tw_instance_free(instance);
            end(&w);
        }
        tw_module_free(module);
    }
}

/* The table is the module's own: what is where shows in calls. */
static void elements_lie_where_imported_globals_say(void **state)
{
    (void)state;
    use_handlers();
    static const char text[] =
        "(module (import \"env\" \"g\" (global $g i32)) (import \"env\" \"null\" (global $null funcref)) (type $f (func (result i32)))"
        "(table 8 funcref) (elem (i32.add (global.get $g) (i32.const 1)) $a $b) (elem (global.get $g) funcref (global.get $null) (ref.func $c))"
        "(func $a (result i32) (i32.const 10)) (func $b (result i32) (i32.const 11)) (func $c (result i32) (i32.const 12))"
        "(func (export \"call\") (param i32) (result i32) (call_indirect (type $f) (local.get 0))))";
    tw_module *module = module_of(text);
    tw_global *place = global_of(i32(3), false), *null = global_of((tw_val){TW_VAL_FUNCREF, {.i64 = 0}}, false);
    tw_import_global imports[] = {{"env", "null", null}, {"env", "g", place}};
    for (int capturable = 0; capturable < 2; capturable++) {
        tw_spawn_options options = offering(imports, 2);
        options.capturable = capturable;
        tw_instance *instance = spawn(module, &options);
        assert_int_equal(outcome_of(instance, module, "call", 3).status, TW_TRAP); /* null */
        assert_int_equal(result(instance, module, "call", 4), 12);                 /* over $a */
        assert_int_equal(result(instance, module, "call", 5), 11);
        assert_int_equal(outcome_of(instance, module, "call", 6).status, TW_TRAP);
        tw_instance_free(instance);
    }
    tw_global_free(place), tw_global_free(null);
    tw_module_free(module);
}

/* ---- shared ones ---- */

static const char shared_text[] =
    "(module (import \"env\" \"g\" (global $g (mut i32))) (import \"env\" \"f\" (func $f)) (memory (export \"memory\") 1)"
    "(func (export \"get\") (result i32) (global.get $g))"
    "(func (export \"set\") (param i32) (global.set $g (local.get 0)))"
    "(func (export \"around\") (param i32) (result i32) (global.set $g (local.get 0)) (call $f) (global.get $g))"
    "(func (export \"trap\") (param i32) (global.set $g (local.get 0)) (unreachable))"
    "(func (export \"spin\") (loop $l (global.set $g (i32.add (global.get $g) (i32.const 1))) (i32.store (i32.const 0) (global.get $g)) (br $l))))";

typedef struct caller {
    tw_global *global;
    int32_t seen;
    tw_instance *other; /* or NULL */
    tw_module *module;
} caller;

static tw_status in_between(void *context, tw_host_call *host, const tw_val *args, tw_val *results, tw_error *why)
{
    (void)host, (void)args, (void)results, (void)why;
    caller *c = context;
    c->seen = value_of(c->global);
    set(c->global, c->seen + 1000);
    if (c->other) c->seen = result(c->other, c->module, "around", 0); /* sets 0 and calls its own function */
    return TW_OK;
}

static tw_instance *spawn_shared(tw_module *module, caller *c, uint64_t timeout_ns)
{
    tw_import_global import = {"env", "g", c->global};
    tw_import_func func = {.module = "env", .name = "f", .call = in_between, .context = c};
    tw_spawn_options options = offering(&import, 1);
    options.imports = &func, options.import_count = 1;
    options.timeout_ns = timeout_ns;
    return spawn(module, &options);
}

static void host_and_guests_have_one_value(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(shared_text);
    caller one = {global_of(i32(5), true), 0, NULL, module}, two = {one.global, 0, NULL, module};
    tw_instance *a = spawn_shared(module, &one, 0), *b = spawn_shared(module, &two, 0);
    assert_int_equal(result(a, module, "get", 0), 5);
    set(one.global, 6);
    assert_int_equal(result(a, module, "get", 0), 6);
    outcome_of(a, module, "set", 7);
    assert_int_equal(value_of(one.global), 7);
    assert_int_equal(result(b, module, "get", 0), 7);
    assert_int_equal(result(b, module, "around", 8), 1008); /* the host saw 8 and made 1008 of it */
    assert_int_equal(two.seen, 8);
    assert_int_equal(value_of(one.global), 1008);
    assert_int_equal(outcome_of(a, module, "trap", 9).status, TW_TRAP);
    assert_int_equal(value_of(one.global), 9); /* stays */
    one.other = b;
    assert_int_equal(result(a, module, "around", 10), 1000); /* b: sets 0, its host function makes 1000 of it, and that is left */
    assert_int_equal(one.seen, 1000);
    assert_int_equal(two.seen, 0);
    tw_global_free(one.global); /* instances keep it */
    assert_int_equal(result(b, module, "get", 0), 1000);
    tw_instance_free(a), tw_instance_free(b);
    tw_module_free(module);
}

static void what_a_start_function_sets_stays_when_it_traps(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (import \"env\" \"g\" (global $g (mut i32))) (start $s) (func $s (global.set $g (i32.mul (global.get $g) (i32.const 3))) (unreachable)))");
    tw_global *global = global_of(i32(5), true);
    tw_instance *instance;
    for (int expected = 15; expected < 100; expected *= 3) {
        assert_int_equal(try_spawn_with(module, global, &instance), TW_TRAP);
        assert_int_equal(value_of(global), expected);
    }
    tw_global_free(global);
    tw_module_free(module);
}

static void one_global_under_two_names_is_one(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (import \"env\" \"a\" (global $a (mut i32))) (import \"env\" \"b\" (global $b (mut i32))) (memory (export \"memory\") 1)"
                                  "(func (export \"sum\") (param i32) (result i32) (global.set $a (local.get 0)) (i32.add (global.get $a) (global.get $b))))");
    tw_global *global = global_of(i32(1), true), *other = global_of(i32(1), true);
    tw_import_global same[] = {{"env", "a", global}, {"env", "b", global}}, apart[] = {{"env", "a", global}, {"env", "b", other}};
    tw_spawn_options options = offering(same, 2);
    tw_instance *instance = spawn(module, &options);
    assert_int_equal(result(instance, module, "sum", 20), 40);
    assert_int_equal(value_of(global), 20);
    file f = capture(instance, writer);
    tw_instance_free(instance);
    free(f.bytes);
    options = offering(apart, 2);
    instance = spawn(module, &options);
    assert_int_equal(result(instance, module, "sum", 30), 31);
    tw_instance_free(instance);
    tw_global_free(global), tw_global_free(other);
    tw_module_free(module);
}

typedef struct spinner {
    tw_instance *instance;
    tw_module *module;
    atomic_int status;
} spinner;

static void *spin(void *context)
{
    spinner *s = context;
    tw_error why;
    s->status = (int)tw_instance_call(s->instance, "spin", NULL, 0, NULL, 0, &why);
    return NULL;
}

static void while_a_guest_runs_with_it_others_are_busy(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(shared_text);
    caller c = {global_of(i32(5), true), 0, NULL, module};
    spinner s = {spawn_shared(module, &c, 0), module, -1};
    tw_instance *other = spawn_shared(module, &c, 0);
    pthread_t thread;
    tw_val value;
    assert_int_equal(pthread_create(&thread, NULL, spin, &s), 0);
    while (tw_global_get(c.global, &value, &error) == TW_OK) usleep(1000);
    value = i32(1);
    assert_int_equal(tw_global_get(c.global, &value, &error), TW_BUSY);
    assert_int_equal(tw_global_set(c.global, &value, &error), TW_BUSY);
    assert_int_equal(outcome_of(other, module, "get", 0).status, TW_BUSY);
    assert_non_null(strstr(error.message, "another instance runs with a global"));
    tw_instance *third;
    tw_import_global import = {"env", "g", c.global};
    tw_import_func func = {.module = "env", .name = "f", .call = in_between, .context = &c};
    tw_spawn_options options = offering(&import, 1);
    options.imports = &func, options.import_count = 1;
    assert_int_equal(tw_instance_spawn(module, &options, &third, &error), TW_BUSY);
    OK(tw_instance_terminate(s.instance, &error));
    pthread_join(thread, NULL);
    assert_int_equal(s.status, TW_TERMINATED);
    assert_true(value_of(c.global) > 5);
    assert_int_equal(result(other, module, "get", 0), value_of(c.global));
    tw_instance_free(s.instance), tw_instance_free(other);
    tw_global_free(c.global);
    tw_module_free(module);
}

/* ---- exported ones ---- */

static void exported_globals_are_read_and_set(void **state)
{
    (void)state;
    use_handlers();
    static const char text[] =
        "(module (import \"env\" \"g\" (global $g (mut i32))) (memory (export \"memory\") 1) (global $base (export \"base\") i32 (i32.const 1024)) (global $a (export \"a\") (mut i64) (i64.const -5))"
        "(global (export \"v\") (mut v128) (v128.const i32x4 1 2 3 4)) (global $r (export \"r\") (mut funcref) (ref.func $f)) (export \"g\" (global $g)) (func $f (export \"f\"))"
        "(func (export \"sum\") (result i32) (i32.add (global.get $g) (i32.wrap_i64 (global.get $a)))) (func (export \"null\") (result i32) (ref.is_null (global.get $r)))"
        "(func (export \"put\") (param i32) (global.set $g (local.get 0))))";
    tw_module *module = module_of(text);
    tw_global *global = global_of(i32(30), true);
    tw_instance *instance = spawn_with(module, global);
    tw_val value, wide = {TW_VAL_I64, {.i64 = 12}}, null = {TW_VAL_FUNCREF, {.i64 = 0}}, some = {TW_VAL_FUNCREF, {.i64 = 1}}, none = {(tw_val_kind)77, {.i64 = 0}};
    OK(tw_instance_global_get(instance, "base", &value, &error));
    assert_int_equal(value.of.i32, 1024);
    assert_int_equal(value.kind, TW_VAL_I32);
    OK(tw_instance_global_get(instance, "a", &value, &error));
    assert_int_equal(value.of.i64, -5);
    OK(tw_instance_global_get(instance, "v", &value, &error));
    assert_memory_equal(value.of.v128, "\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0", 16);
    OK(tw_instance_global_get(instance, "r", &value, &error));
    assert_int_equal(value.of.i64, 1);
    assert_int_equal(result(instance, module, "sum", 0), 25);
    OK(tw_instance_global_set(instance, "a", &wide, &error));
    assert_int_equal(result(instance, module, "sum", 0), 42);
    OK(tw_instance_global_set(instance, "r", &null, &error));
    assert_int_equal(result(instance, module, "null", 0), 1);
    value = i32(100); /* the host's own, by its instance's name for it */
    OK(tw_instance_global_set(instance, "g", &value, &error));
    assert_int_equal(value_of(global), 100);
    set(global, 7);
    OK(tw_instance_global_get(instance, "g", &value, &error));
    assert_int_equal(value.of.i32, 7);
    assert_int_equal(tw_instance_global_set(instance, "base", &value, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_global_set(instance, "g", &wide, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_global_set(instance, "r", &some, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_global_set(instance, "a", &none, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(tw_instance_global_set(instance, "f", &value, &error), TW_NOT_FOUND);
    assert_int_equal(tw_instance_global_get(instance, "nothing", &value, &error), TW_NOT_FOUND);
    assert_int_equal(tw_instance_global_get(instance, NULL, &value, &error), TW_INVALID_ARGUMENT);
    assert_int_equal(value_of(global), 7);
    assert_int_equal(result(instance, module, "sum", 0), 19);
    tw_instance_free(instance);
    tw_global_free(global);
    tw_module_free(module);
}

static void what_the_host_sets_is_captured_and_reset(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of("(module (memory (export \"memory\") 1) (global $a (export \"a\") (mut i32) (i32.const 5)) (func (export \"get\") (result i32) (global.get $a)))");
    tw_instance_pool *pool = pool_of(module, NULL);
    tw_instance *instance = take(pool), *copy;
    tw_val value = i32(6);
    OK(tw_instance_global_set(instance, "a", &value, &error));
    file f = capture(instance, writer);
    copy = restore(module, f);
    assert_int_equal(result(copy, module, "get", 0), 6);
    tw_instance_pool_give(pool, instance);
    assert_int_equal(tw_instance_global_get(instance, "a", &value, &error), TW_INVALID_ARGUMENT); /* the pool's */
    instance = take(pool);
    assert_int_equal(result(instance, module, "get", 0), 5);
    tw_instance_free(copy), tw_instance_free(instance);
    tw_instance_pool_free(pool);
    free(f.bytes);
    tw_module_free(module);
}

/* ---- snapshots ---- */

static const char kept_text[] =
    "(module (import \"env\" \"base\" (global $base i32)) (import \"env\" \"g\" (global $g (mut i32))) (import \"env\" \"wide\" (global $wide v128))"
    "(memory (export \"memory\") 1) (global $own (mut i32) (global.get $base)) (global $fixed i32 (i32.mul (global.get $base) (i32.const 2)))"
    "(data (global.get $base) \"data\") (func (export \"bump\") (param i32) (global.set $g (i32.add (global.get $g) (local.get 0))) (global.set $own (i32.sub (global.get $own) (local.get 0))))"
    "(func (export \"sum\") (result i32) (i32.add (i32.add (global.get $g) (global.get $own)) (global.get $fixed)))"
    "(func (export \"g\") (result i32) (global.get $g)) (func (export \"wide\") (result v128) (global.get $wide)))";

static tw_spawn_options offering_three(tw_import_global imports[3], tw_global *base, tw_global *g, tw_global *wide)
{
    imports[0] = (tw_import_global){"env", "base", base};
    imports[1] = (tw_import_global){"env", "g", g};
    imports[2] = (tw_import_global){"env", "wide", wide};
    return offering(imports, 3);
}

static void captured_values_come_back(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(kept_text);
    tw_val v = {TW_VAL_V128, {.v128 = {9, 8, 7}}}, other = {TW_VAL_V128, {.v128 = {9, 8, 6}}};
    tw_global *base = global_of(i32(100), false), *g = global_of(i32(1), true), *wide = global_of(v, false), *later = global_of(i32(77), true);
    tw_global *wrong = global_of(i32(101), false), *wrong_wide = global_of(other, false);
    tw_import_global imports[3];
    tw_spawn_options options = offering_three(imports, base, g, wide);
    tw_instance *original = spawn(module, &options), *copy, *second;
    outcome_of(original, module, "bump", 41); /* g 42, own 59, fixed 200 */
    assert_int_equal(result(original, module, "sum", 0), 301);
    set(g, 50); /* by the host, after the last call */
    file f = capture(original, writer);
    /* where it would be wrong, nothing changes */
    assert_int_equal(try_restore(module, f, &options, &copy), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "belongs to another instance"));
    assert_int_equal(value_of(g), 50);
    options = offering_three(imports, wrong, later, wide);
    assert_int_equal(try_restore(module, f, &options, &copy), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "imported global 0 with another value"));
    options = offering_three(imports, base, later, wrong_wide);
    assert_int_equal(try_restore(module, f, &options, &copy), TW_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "imported global 2 with another value"));
    assert_int_equal(value_of(later), 77);
    assert_int_equal(try_restore(module, f, NULL, &copy), TW_LINK);
    /* where it is right, it goes on */
    options = offering_three(imports, base, later, wide);
    OK(try_restore(module, f, &options, &copy));
    assert_int_equal(value_of(later), 50);
    assert_int_equal(result(copy, module, "sum", 0), 309);
    file again = capture(copy, writer);
    assert_int_equal(f.size, again.size);
    assert_memory_equal(f.bytes, again.bytes, f.size);
    static const char *const names[] = {"bump", "sum", "g", "wide"};
    run_on(module, original, copy, names, 4, 100, 3);
    assert_int_equal(value_of(g), value_of(later));
    /* shared ones can't be captured, and can again */
    options = offering_three(imports, base, g, wide);
    second = spawn(module, &options);
    file none;
    assert_int_equal(try_capture(original, writer, &none), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "a global that it imports is shared with 1 other instance"));
    tw_instance_free(second);
    none = capture(original, writer);
    free(none.bytes);
    /* and no module holds what its host makes */
    tw_snapshot *snapshot = read_file(f);
    uint8_t *baked;
    size_t size;
    assert_int_equal(tw_module_bake(module, snapshot, NULL, &baked, &size, &error), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "imports the global \"env\".\"base\""));
    tw_snapshot_free(snapshot);
    free(f.bytes), free(again.bytes);
    tw_instance_free(original), tw_instance_free(copy);
    tw_global_free(base), tw_global_free(g), tw_global_free(wide), tw_global_free(later), tw_global_free(wrong), tw_global_free(wrong_wide);
    tw_module_free(module);
}

/* ---- pools ---- */

static void a_pools_instances_are_as_fresh_ones(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(kept_text);
    tw_val v = {TW_VAL_V128, {.v128 = {1}}};
    tw_global *base = global_of(i32(100), false), *g = global_of(i32(1), true), *wide = global_of(v, false), *fresh_g = global_of(i32(1), true);
    tw_import_global imports[3];
    tw_spawn_options options = offering_three(imports, base, g, wide);
    tw_instance_pool *pool = pool_of(module, &options);
    tw_global_free(base), tw_global_free(wide); /* the pool keeps them */
    memset(imports, 0, sizeof imports);
    for (int i = 1; i <= 20; i++) {
        tw_instance *instance = take(pool);
        set(g, i), set(fresh_g, i); /* the host's, between takes */
        offering_three(imports, base, fresh_g, wide);
        tw_instance *fresh = spawn(module, &options);
        assert_int_equal(result(instance, module, "sum", 0), i + 300);
        file x = capture(instance, writer), y = capture(fresh, writer);
        assert_int_equal(x.size, y.size);
        assert_memory_equal(x.bytes, y.bytes, x.size);
        free(x.bytes), free(y.bytes);
        outcome_of(instance, module, "bump", 5 + i);
        assert_int_equal(value_of(g), 5 + 2 * i);
        tw_instance_free(fresh);
        tw_instance_pool_give(pool, instance);
        assert_int_equal(tw_instance_pool_idle(pool), 1);
        assert_int_equal(value_of(g), 5 + 2 * i); /* a reset leaves it alone */
    }
    tw_instance_pool_free(pool);
    tw_global_free(g), tw_global_free(fresh_g);
    tw_module_free(module);
}

static const char fixed_text[] =
    "(module (import \"env\" \"g\" (global $g i32)) (memory (export \"memory\") 1) (global $own (mut i32) (global.get $g)) (data (global.get $g) \"data\")"
    "(func (export \"set\") (param i32) (global.set $own (local.get 0)) (i32.store (local.get 0) (local.get 0)))"
    "(func (export \"get\") (result i32) (i32.add (global.get $own) (global.get $g))))";

static void pools_begin_with_snapshots_where_nothing_is_shared(void **state)
{
    (void)state;
    use_handlers();
    tw_module *module = module_of(fixed_text), *sharing = module_of(shared_text);
    tw_global *fixed = global_of(i32(40), false);
    tw_import_global import = {"env", "g", fixed};
    tw_spawn_options options = offering(&import, 1);
    tw_instance *instance = spawn(module, &options);
    outcome_of(instance, module, "set", 2);
    file f = capture(instance, writer);
    tw_instance_free(instance);
    tw_snapshot *snapshot = read_file(f);
    tw_instance_pool_options begin = TW_INSTANCE_POOL_OPTIONS_INIT;
    begin.snapshot = snapshot;
    tw_instance_pool *pool;
    OK(tw_instance_pool_new(module, &options, &begin, &pool, &error));
    for (int i = 0; i < 5; i++) {
        instance = take(pool);
        assert_int_equal(result(instance, module, "get", 0), 42);
        outcome_of(instance, module, "set", 99);
        tw_instance_pool_give(pool, instance);
    }
    tw_instance_pool_free(pool);
    tw_snapshot_free(snapshot);
    free(f.bytes);
    caller c = {global_of(i32(5), true), 0, NULL, sharing};
    instance = spawn_shared(sharing, &c, 0);
    f = capture(instance, writer);
    tw_instance_free(instance);
    begin.snapshot = snapshot = read_file(f);
    import.global = c.global;
    assert_int_equal(tw_instance_pool_new(sharing, &options, &begin, &pool, &error), TW_UNSUPPORTED);
    assert_non_null(strstr(error.message, "imports a mutable global (number 0)"));
    tw_snapshot_free(snapshot);
    free(f.bytes);
    tw_global_free(c.global), tw_global_free(fixed);
    tw_module_free(module), tw_module_free(sharing);
}

/* ---- kernels ---- */

static const char loops_text[] =
    "(module (import \"env\" \"n\" (global $n (mut i32))) (import \"env\" \"scale\" (global $scale (mut f32))) (import \"env\" \"base\" (global $base i32)) (memory (export \"memory\") 4)"
    "(func (export \"fill\") (param i32) (local $i i32) (loop $l"
    " (f32.store (i32.add (global.get $base) (i32.shl (local.get $i) (i32.const 2))) (f32.mul (f32.convert_i32_s (i32.add (local.get $i) (local.get 0))) (global.get $scale)))"
    " (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (global.get $n)))))"
    "(func (export \"mix\") (param i32) (local $i i32) (local $n i32) (local $s f32) (local.set $n (global.get $n)) (local.set $s (global.get $scale)) (loop $l"
    " (f32.store offset=65536 (i32.shl (local.get $i) (i32.const 2)) (f32.add (f32.load offset=65536 (i32.shl (local.get $i) (i32.const 2)))"
    "  (f32.mul (f32.load (i32.shl (local.get $i) (i32.const 2))) (local.get $s))))"
    " (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))"
    "(func (export \"half\") (param i32) (global.set $n (i32.shr_u (global.get $n) (i32.const 1)))))";

static tw_instance *spawn_loops(tw_module *module, tw_global *n, tw_global *scale, tw_global *base, bool offload)
{
    tw_import_global imports[] = {{"env", "scale", scale}, {"env", "n", n}, {"env", "base", base}};
    tw_spawn_options options = offering(imports, 3);
    if (!offload) options.kernel_cache = NULL;
    return spawn(module, &options);
}

static void kernels_see_what_the_host_has_set(void **state)
{
    (void)state;
    use_handlers();
    static const char *const names[] = {"fill", "mix", "half", "mix"};
    tw_module *module = module_of(loops_text);
    tw_val scale = {TW_VAL_F32, {.f32 = 0.37f}};
    tw_global *n[2], *s[2], *base = global_of(i32(512), false);
    tw_instance *instances[2];
    for (int i = 0; i < 2; i++) {
        n[i] = global_of(i32(1), true);
        s[i] = global_of(scale, true);
        instances[i] = spawn_loops(module, n[i], s[i], base, i == 1);
    }
    for (int round = 0; round < 24; round++) {
        scale.of.f32 = 0.37f * (float)(round + 1);
        for (int i = 0; i < 2; i++) {
            set(n[i], 9000 + 250 * (round % 5));
            OK(tw_global_set(s[i], &scale, &error));
            assert_int_equal(outcome_of(instances[i], module, names[round % 4], round).status, TW_OK);
        }
        same_memories(instances[0], instances[1]);
        assert_int_equal(value_of(n[0]), value_of(n[1]));
    }
    assert_int_not_equal(kernels_run(instances[1]), 0);
    for (int i = 0; i < 2; i++) tw_instance_free(instances[i]), tw_global_free(n[i]), tw_global_free(s[i]);
    tw_global_free(base);
    tw_module_free(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_comes_in_bit_for_bit),
        cmocka_unit_test(what_cant_be_is_refused),
        cmocka_unit_test(what_doesnt_match_the_import_is_named),
        cmocka_unit_test(segments_lie_where_imported_globals_say),
        cmocka_unit_test(elements_lie_where_imported_globals_say),
        cmocka_unit_test(host_and_guests_have_one_value),
        cmocka_unit_test(what_a_start_function_sets_stays_when_it_traps),
        cmocka_unit_test(one_global_under_two_names_is_one),
        cmocka_unit_test(while_a_guest_runs_with_it_others_are_busy),
        cmocka_unit_test(exported_globals_are_read_and_set),
        cmocka_unit_test(what_the_host_sets_is_captured_and_reset),
        cmocka_unit_test(captured_values_come_back),
        cmocka_unit_test(a_pools_instances_are_as_fresh_ones),
        cmocka_unit_test(pools_begin_with_snapshots_where_nothing_is_shared),
        cmocka_unit_test(kernels_see_what_the_host_has_set),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
