/* SPDX-License-Identifier: Apache-2.0 */
/* What the analysis claims, checked while the code runs: in every block that is executed, each integer value must equal its
 * polynomial (evaluated with the values, counters and arrivals of the moment) and lie in its range; when a loop has left, its
 * arrivals must be what the trip-count table says of its exits; values used after a loop must be what they are said to be
 * from outside. Programs: kernels compiled by clang, and the random modules of tests/support. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/ir_interp.h"
#include "../../support/random_wat.h"
#include "analysis/analysis.h"
#include "lift/lift.h"

/* One activation of one function. */
typedef struct interp_watcher {
    tw_analysis *analysis;
    const uint64_t *values;
    uint64_t *arrivals; /* by loop: during the last entry */
    uint64_t *expected; /* by loop: arrivals predicted at entry; 0 = nothing predicted */
} watcher;

static struct totals {
    uint64_t values, trips, outside, ranges;
} totals;

static uint64_t atom_value(void *context, tw_atom atom)
{
    const watcher *w = context;
    const tw_ir_func *func = tw_analysis_func(w->analysis);
    uint32_t index = tw_atom_index(atom);
    switch (tw_atom_kind_of(atom)) {
    case TW_ATOM_VALUE:
        return func->values[index].kind == TW_IR_CONST ? func->values[index].bits[0] : w->values[index];
    case TW_ATOM_COUNTER: return w->arrivals[index] - 1;
    case TW_ATOM_ARRIVALS: return w->arrivals[index];
    default: fail_msg("an atom of no kind"); return 0;
    }
}

static void describe(const watcher *w, tw_ir_value value, const tw_poly *poly, const char *what)
{
    tw_bytes text = {0};
    tw_ir_print(tw_analysis_func(w->analysis), &text);
    tw_bytes_printf(&text, "%s: v%u is %llu, but ", what, value, (unsigned long long)w->values[value]);
    tw_poly_print(poly, &text);
    tw_bytes_printf(&text, " is %llu\n", poly ? (unsigned long long)tw_poly_eval(poly, atom_value, (void *)(uintptr_t)w) : 0);
    fail_msg("%s", text.data);
}

static void check_poly(const watcher *w, tw_ir_value value, tw_loop scope, const char *what)
{
    const tw_poly *poly = tw_evolution_of(w->analysis, value, scope);
    if (!poly) return;
    uint64_t claimed = tw_poly_eval(poly, atom_value, (void *)(uintptr_t)w), have = w->values[value];
    if (claimed != (poly->bits == 32 ? (uint32_t)have : have)) describe(w, value, poly, what);
    totals.values++;
}

static void check_range(const watcher *w, tw_ir_value value)
{
    tw_range r = tw_range_of(w->analysis, value);
    uint64_t have = w->values[value];
    if ((have & r.zero) || (~have & r.one) || have < r.min || have > r.max)
        fail_msg("v%u is %llu, outside of its range %llu..%llu zero %llx one %llx", value, (unsigned long long)have,
                 (unsigned long long)r.min, (unsigned long long)r.max, (unsigned long long)r.zero, (unsigned long long)r.one);
    totals.ranges += r.max != UINT32_MAX && r.max != UINT64_MAX;
}

static void check_value(const watcher *w, tw_ir_value value, tw_loop scope)
{
    uint8_t type = tw_analysis_func(w->analysis)->values[value].type;
    if (type != TW_I32 && type != TW_I64) return;
    check_poly(w, value, scope, "seen from its own loop");
    check_range(w, value);
}

/* Called when `block` has been executed up to its end. */
static void watch_block(watcher *w, tw_ir_block block)
{
    const tw_ir_func *func = tw_analysis_func(w->analysis);
    const tw_ir_blockdata *data = &func->blocks[block];
    tw_loop scope = tw_analysis_loops(w->analysis)->innermost[block];
    for (uint32_t i = 0; i < data->param_count; i++) check_value(w, data->first_param + i, scope);
    for (uint32_t i = 0; i < data->inst_count; i++) {
        const tw_ir_inst *inst = &func->insts[data->insts[i]];
        for (uint32_t r = 0; r < inst->result_count; r++) check_value(w, inst->first_result + r, scope);
    }
}

/* Arrivals by the table: the least over the exits, when every exit is known. 0 otherwise. */
static uint64_t predict(watcher *w, tw_loop loop)
{
    const tw_loopdata *data = &tw_analysis_loops(w->analysis)->items[loop];
    const tw_trip *trips = tw_trips_of(w->analysis, loop);
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < data->exit_count; i++) {
        uint64_t arrivals;
        if (!trips[i].known || trips[i].loaded) return 0; /* stores of these programs hit what they like */
        /* said of inner loops whose count is always the same, but not known yet */
        for (uint32_t t = 0; t < trips[i].start->term_count; t++)
            for (int k = 0; k < TW_POLY_DEGREE; k++)
                if (tw_atom_kind_of(trips[i].start->terms[t].atoms[k]) == TW_ATOM_ARRIVALS) return 0;
        if (!tw_trip_count(trips[i].compare, trips[i].bits, tw_poly_eval(trips[i].start, atom_value, w),
                           tw_poly_eval(trips[i].step, atom_value, w), tw_poly_eval(trips[i].bound, atom_value, w), &arrivals))
            return 0;
        if (arrivals < least) least = arrivals;
    }
    return data->exit_count ? least : 0;
}

static void leave_loop(watcher *w, tw_loop loop)
{
    if (!w->expected[loop]) return;
    if (w->expected[loop] != w->arrivals[loop])
        fail_msg("loop %u of %s: %llu arrivals, predicted %llu", loop, tw_analysis_func(w->analysis)->name,
                 (unsigned long long)w->arrivals[loop], (unsigned long long)w->expected[loop]);
    totals.trips++;
}

/* Values that are alive after the loop, from where the edge leads. */
static void check_outside(watcher *w, tw_loop left, tw_ir_block to)
{
    const tw_loops *loops = tw_analysis_loops(w->analysis);
    const tw_ir_func *func = tw_analysis_func(w->analysis);
    tw_values outs = tw_live_outs_of(w->analysis, left);
    for (uint32_t i = 0; i < outs.count; i++) {
        const tw_ir_valuedata *data = &func->values[outs.items[i]];
        if (data->type != TW_I32 && data->type != TW_I64) continue;
        if (!tw_cfg_dominates(tw_analysis_cfg(w->analysis), data->block, to)) continue;
        check_poly(w, outs.items[i], loops->innermost[to], "seen after its loop");
        totals.outside++;
    }
}

/* Called when control goes from one block to another, the target's parameters set. */
static void watch_edge(watcher *w, tw_ir_block from, tw_ir_block to)
{
    const tw_loops *loops = tw_analysis_loops(w->analysis);
    for (tw_loop l = loops->innermost[from]; l != TW_NO_LOOP && !tw_loop_has_block(loops, l, to); l = loops->items[l].parent) {
        leave_loop(w, l);
        check_outside(w, l, to);
    }
    tw_loop headed = loops->innermost[to];
    if (headed == TW_NO_LOOP || loops->items[headed].header != to) return;
    if (tw_loop_has_block(loops, headed, from)) w->arrivals[headed]++;
    else {
        w->expected[headed] = predict(w, headed);
        w->arrivals[headed] = 1;
    }
}

/* ---- programs ---- */

typedef struct program {
    tw_wasm module;
    tw_ir_func **funcs;
    tw_analysis **analyses;
    interp in;
} program;

static watcher *watch_begin(interp *in, uint32_t index, const uint64_t *values)
{
    tw_analysis *analysis = ((tw_analysis **)in->watch_context)[index];
    uint32_t count = tw_analysis_loops(analysis)->count;
    watcher *w = calloc(1, sizeof *w);
    *w = (watcher){.analysis = analysis, .values = values, .arrivals = calloc(count + 1, 8), .expected = calloc(count + 1, 8)};
    return w;
}

static void watch_end(watcher *w)
{
    free(w->arrivals);
    free(w->expected);
    free(w);
}

static const interp_watch watch = {watch_begin, watch_block, watch_edge, watch_end};

static void load_program(program *p, const char *path, bool thread)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t *bytes = malloc(1 << 22);
    size_t size = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    tw_error error = {0};
    assert_int_equal(tw_wasm_decode((tw_span){bytes, size}, NULL, &p->module, &error), TW_OK);
    p->funcs = calloc(p->module.func_count, sizeof *p->funcs);
    p->analyses = calloc(p->module.func_count, sizeof *p->analyses);
    for (uint32_t i = 0; i < p->module.func_count; i++) {
        bool changed;
        if (p->module.funcs[i].imported) continue;
        assert_int_equal(tw_lift(&p->module, i, (size_t)1 << 28, &p->funcs[i], &error), TW_OK);
        if (thread) assert_int_equal(tw_thread_jumps(p->funcs[i], &changed, &error), TW_OK);
        assert_int_equal(tw_analysis_new(p->funcs[i], (size_t)1 << 28, &p->analyses[i], &error), TW_OK);
    }
    p->in = (interp){.module = &p->module, .funcs = p->funcs, .memory = calloc(2, 65536), .memory_size = 2 * 65536,
                     .globals = calloc(p->module.global_count + 1, 8), .table = calloc(FUNCS, 4), .max_blocks = 3000,
                     .watch = &watch, .watch_context = p->analyses};
}

static void free_program(program *p)
{
    for (uint32_t i = 0; i < p->module.func_count; i++) {
        if (p->analyses[i]) assert_false(tw_analysis_failed(p->analyses[i]));
        tw_analysis_free(p->analyses[i]);
        tw_ir_func_free(p->funcs[i]);
    }
    free(p->funcs);
    free(p->analyses);
    free(p->in.memory);
    free(p->in.globals);
    free(p->in.table);
    free((void *)(uintptr_t)p->module.bytes.data);
    tw_wasm_free(&p->module);
}

static const char kernels[] =
    "typedef unsigned char u8; typedef long long i64; typedef unsigned u;\n"
    "void saxpy(int n,float a,float*x,float*y){for(int i=0;i<n;i++)y[i]+=a*x[i];}\n"
    "void gemm(int n,int m,int k,double*C,double*A,double*B){for(int i=0;i<n;i++){for(int j=0;j<m;j++)C[i*m+j]*=3;\n"
    " for(int l=0;l<k;l++)for(int j=0;j<m;j++)C[i*m+j]+=A[i*k+l]*B[l*m+j];}}\n"
    "void blur(int w,int h,int unused,u8*d,u8*s){for(int y=1;y<h-1;y++)for(int x=1;x<w-1;x++){int t=0;\n"
    " for(int a=-1;a<=1;a++)for(int b=-1;b<=1;b++)t+=s[(y+a)*w+x+b];d[y*w+x]=t/9;}}\n"
    "void tri(int n,int m,int k,double*C,double*A){for(int i=0;i<n;i++)for(int j=0;j<=i;j++)for(int l=0;l<m;l++)C[i*n+j]+=A[i*m+l]*A[j*m+l];}\n"
    "void walk(int n,int m,int k,int*p){int*q=p;for(int i=0;i<n;i++){for(int j=0;j<m;j++)*q++=i^j;q+=k;}}\n"
    "void down(int n,int m,int k,int*p){for(int i=n;i-->0;)for(int j=m;j>0;j-=2)p[i*8+j]+=k;}\n"
    "int find(int n,int m,int k,int*p){int i=0;for(;i<n;i++){if(p[i]==m+77)break;p[i]=i|1;}return i;}\n"
    "i64 wide(int n,int m,int k,i64*p){i64 s=0;for(i64 i=n;i<m+n;i+=3)s+=p[i&15]*i;for(unsigned long long q=n;q!=0;q--)p[q&7]=s;return s;}\n"
    "u bits(u n,u m,u k,u*p){u s=0;for(u i=0;i<n;i++)for(u j=0;j<m;j+=4){p[j|1]=p[j]+i;s^=p[j|3]&60;}return s;}\n"
    "void ptrs(int n,int m,int k,char*a,char*b){char*e=a+n;while(a!=e)*a++=*b--;for(char*q=a+m;q>a;q-=3)*q=1;}\n"
    "int collatz(int n,int m,int k,int*p){u c=0,x=n*4+3;while(x!=1){x=x&1?3*x+1:x>>1;if(++c>200)break;}p[0]=c;return c;}\n"
    "void both(int n,int m,int k,int*p){int lo=0,hi=n;while(lo<hi){p[lo]=p[hi];lo++;hi--;}int a=0,b=m;while(a!=b){a+=2;b-=1;if(a>99)break;}p[1]=a;}\n"
    "void second(int n,int m,int k,int*p){int s=0,t=1;for(int i=0;i<n;i++){p[s&31]=t;s+=t;t+=2;}}\n";

static void build(const char *flags, const char *wasm)
{
    char source[64], command[300];
    snprintf(source, sizeof source, "/tmp/tw-runs-%d.c", (int)getpid());
    FILE *file = fopen(source, "wb");
    assert_non_null(file);
    fputs(kernels, file);
    fclose(file);
    snprintf(command, sizeof command, "clang-19 --target=wasm32 %s -nostdlib -Wl,--no-entry -Wl,--export-all -o %s %s", flags, wasm, source);
    assert_int_equal(system(command), 0);
    unlink(source);
}

/* Every function with small numbers of every sign; pointers into the memory. */
static void run_kernels(program *p)
{
    static const int sizes[][3] = {{0, 0, 0}, {1, 1, 1}, {2, 3, 4}, {5, 4, 3}, {9, 8, 7}, {7, 12, 5}, {-1, 3, 2}, {16, -5, 1}};
    for (uint32_t e = 0; e < p->module.export_count; e++) {
        uint32_t func = p->module.exports[e].index;
        if (p->module.exports[e].kind != TW_EXTERN_FUNC || !p->funcs[func] || p->funcs[func]->param_count < 4) continue;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const tw_ir_func *f = p->funcs[func];
            uint64_t args[8], results[8];
            for (uint32_t i = 0; i < f->param_count; i++)
                args[i] = i < 3 ? (f->params[i] == TW_I32 ? (uint32_t)sizes[s][i] : 0x40000000) : 70000 + 8192 * i;
            p->in.blocks = 0;
            interp_end end = interp_run(&p->in, func, args, results);
            assert_true(end == INTERP_OK || end == INTERP_BOUNDS || end == INTERP_FUEL);
        }
    }
}

static void claims_hold_in_compiled_kernels(void **state)
{
    (void)state;
    static const char *const flags[] = {"-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fno-unroll-loops -fno-vectorize"};
    char wasm[64];
    snprintf(wasm, sizeof wasm, "/tmp/tw-runs-%d.wasm", (int)getpid());
    memset(&totals, 0, sizeof totals);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        for (int thread = 0; thread < 2; thread++) {
            program p;
            build(flags[i], wasm);
            load_program(&p, wasm, thread);
            if (p.module.global_count) p.in.globals[0] = 66000; /* the shadow stack */
            run_kernels(&p);
            free_program(&p);
        }
    unlink(wasm);
    print_message("%llu values, %llu loop counts, %llu values after loops, %llu ranges held\n", (unsigned long long)totals.values,
                  (unsigned long long)totals.trips, (unsigned long long)totals.outside, (unsigned long long)totals.ranges);
    assert_true(totals.trips > 1000 && totals.outside > 300 && totals.ranges > 1000);
}

static void claims_hold_in_random_programs(void **state)
{
    (void)state;
    const char *seed_text = getenv("TW_TEST_SEED"), *cases_text = getenv("TW_TEST_CASES");
    uint64_t seed = seed_text ? strtoull(seed_text, NULL, 10) : 1, cases = cases_text ? strtoull(cases_text, NULL, 10) : 40;
    char wat[64], wasm[64], command[200];
    snprintf(wat, sizeof wat, "/tmp/tw-runs-%d.wat", (int)getpid());
    snprintf(wasm, sizeof wasm, "/tmp/tw-runs-%d.wasm", (int)getpid());
    snprintf(command, sizeof command, "wat2wasm --enable-tail-call %s -o %s", wat, wasm);
    memset(&totals, 0, sizeof totals);
    for (uint64_t c = seed; c < seed + cases; c++) {
        generator g = {.state = c * 0x9E3779B97F4A7C15u + 77};
        generate_module(&g);
        FILE *file = fopen(wat, "wb");
        assert_non_null(file);
        fwrite(g.out.data, 1, g.out.size, file);
        fclose(file);
        tw_bytes_free(&g.out);
        assert_int_equal(system(command), 0);
        program p;
        load_program(&p, wasm, c % 2);
        p.in.memory_size = 65536;
        p.in.table_size = FUNCS;
        p.in.globals[1] = 5;
        for (uint32_t i = 0; i < FUNCS; i++) p.in.table[i] = p.module.elems[0].funcs[i] + 1;
        for (uint32_t e = 0; e < p.module.export_count; e += 2) {
            uint64_t results[4];
            p.in.blocks = 0;
            assert_int_not_equal(interp_run(&p.in, p.module.exports[e].index, NULL, results), INTERP_UNKNOWN);
        }
        free_program(&p);
    }
    unlink(wat);
    unlink(wasm);
    print_message("seed %llu: %llu values, %llu loop counts, %llu values after loops, %llu ranges held\n", (unsigned long long)seed,
                  (unsigned long long)totals.values, (unsigned long long)totals.trips, (unsigned long long)totals.outside,
                  (unsigned long long)totals.ranges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_hold_in_compiled_kernels),
        cmocka_unit_test(claims_hold_in_random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
