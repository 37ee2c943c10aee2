/* SPDX-License-Identifier: Apache-2.0 */
#include "region/builder.h"

#include <inttypes.h>
#include <string.h>

/* Polynomials become affines, then the model is copied without what nothing needs any more: merged remainders, emptied
 * if-loops, the dropped copies of unrolled statements, exprs that were only steps on the way. */

typedef struct finisher {
    tw_builder *b;
    tw_model *model;
    uint32_t *loop, *expr, *affine, *access, *value, *carried; /* old → new; TW_NONE = dropped (1 while marking) */
} finisher;

static bool fail_memory(tw_builder *b)
{
    return tw_refuse(b->reason, TW_REFUSAL_TOO_BIG, "the model grows too large");
}

/* ---- ifs that vary ---- */

static uint32_t both(tw_model *model, uint32_t x, uint32_t y)
{
    if (x == TW_NONE || y == TW_NONE) return x == TW_NONE ? y : x;
    if (model->value_count >= TW_MODEL_MAX_VALUES) return TW_NONE;
    if (!TW_ARENA_GROW(&model->arena, model->values, model->value_count, model->value_capacity)) return TW_NONE;
    model->values[model->value_count] = (tw_value_node){.kind = TW_VALUE_OP, .type = TW_I32, .op = TW_OP_I32_AND, .index = TW_NONE, .args = {x, y, TW_NONE}};
    return model->value_count++;
}

/* The items of if-loop `gone` with its condition as their guard. Counted loops have it in their trips already; if-loops get it
 * from the splice that follows. */
static bool predicate_items(tw_builder *b, uint32_t gone, uint32_t parent)
{
    tw_model *model = b->model;
    for (uint32_t i = 0; i < model->loops[gone].item_count; i++) {
        tw_item *item = &model->loops[gone].items[i];
        if (item->kind == TW_ITEM_LOOP) continue;
        item->guard = both(model, item->guard, b->if_value[gone]);
        model->accesses[item->index].loop = parent;
        uint32_t address = model->accesses[item->index].address;
        if (b->affine_loop[address] == gone) b->affine_loop[address] = parent;
        if (item->guard == TW_NONE) return fail_memory(b);
    }
    return true;
}

static bool lower_varying_ifs(tw_builder *b)
{
    tw_model *model = b->model;
    for (uint32_t l = 0; l < model->loop_count; l++)
        for (uint32_t i = 0; i < model->loops[l].item_count;) {
            const tw_item *item = &model->loops[l].items[i];
            bool varies = item->kind == TW_ITEM_LOOP && model->loops[item->index].is_if && model->exprs[model->loops[item->index].trips].counters;
            if (!varies) i++;
            else if (!predicate_items(b, item->index, l) || !tw_build_splice(b, l, i)) return false;
        }
    return true;
}

/* ---- ifs whose values are used outside ---- */

/* What is read in an if-loop is at hand in it only. Where a merge behind it picks such a value, its items become predicated ones: a read
 * may be made all the same. */

typedef struct escape {
    tw_builder *b;
    uint32_t *home;  /* by value: the innermost loop that it belongs to; TW_NONE = none */
    uint8_t *live;
    uint32_t found;  /* an if-loop that a value escapes from; TW_NONE */
} escape;

static bool encloses(const tw_model *model, uint32_t outer, uint32_t inner)
{
    if (outer == TW_NONE) return true;
    while (inner != TW_NONE && inner != outer) inner = model->loops[inner].parent;
    return inner == outer;
}

static void use_in(escape *e, uint32_t home, uint32_t loop)
{
    const tw_model *model = e->b->model;
    if (e->found == TW_NONE && !encloses(model, home, loop) && model->loops[home].is_if) e->found = home;
}

/* The innermost home among the arguments; of homes side by side one must go. */
static uint32_t home_of(escape *e, const tw_value_node *node)
{
    const tw_model *model = e->b->model;
    uint32_t home = TW_NONE;
    switch ((tw_value_kind)node->kind) {
    case TW_VALUE_CONST: case TW_VALUE_SYMBOL: return TW_NONE;
    case TW_VALUE_AFFINE: return e->b->affine_loop[node->index];
    case TW_VALUE_READ:
        if (node->args[0] != TW_NONE) use_in(e, e->home[node->args[0]], model->accesses[node->index].loop);
        return model->accesses[node->index].loop;
    case TW_VALUE_CARRIED: return model->carried[node->index].loop;
    case TW_VALUE_FINAL: return model->loops[model->carried[node->index].loop].parent;
    case TW_VALUE_OP: break;
    }
    for (int a = 0; a < 3 && node->args[a] != TW_NONE; a++) {
        uint32_t arg = e->home[node->args[a]];
        if (encloses(model, home, arg)) home = arg;
        else if (!encloses(model, arg, home)) use_in(e, model->loops[arg].is_if ? arg : home, model->loops[arg].is_if ? home : arg);
    }
    return home;
}

static void live_value(escape *e, uint32_t value)
{
    if (value == TW_NONE || e->live[value]) return;
    e->live[value] = 1;
    const tw_value_node *node = &e->b->model->values[value];
    for (int a = 0; a < 3; a++) live_value(e, node->args[a]);
    if (node->kind != TW_VALUE_CARRIED && node->kind != TW_VALUE_FINAL) return;
    live_value(e, e->b->model->carried[node->index].init);
    live_value(e, e->b->model->carried[node->index].next);
}

static void live_loop(escape *e, uint32_t loop)
{
    const tw_model_loop *l = &e->b->model->loops[loop];
    if (l->is_if) live_value(e, e->b->if_value[loop]);
    for (uint32_t i = 0; i < l->item_count; i++) {
        if (l->items[i].kind == TW_ITEM_LOOP) live_loop(e, l->items[i].index);
        else live_value(e, l->items[i].value), live_value(e, l->items[i].guard);
    }
}

static void use_items(escape *e, uint32_t loop)
{
    const tw_model_loop *l = &e->b->model->loops[loop];
    for (uint32_t i = 0; i < l->item_count; i++) {
        const tw_item *item = &l->items[i];
        if (item->kind == TW_ITEM_LOOP) {
            use_items(e, item->index);
            continue;
        }
        if (item->guard != TW_NONE) use_in(e, e->home[item->guard], loop);
        if (item->kind == TW_ITEM_STORE) use_in(e, e->home[item->value], loop);
    }
}

static bool find_escape(escape *e)
{
    const tw_model *model = e->b->model;
    e->found = TW_NONE;
    e->home = TW_NEW_ARRAY(e->b->arena, uint32_t, model->value_count);
    e->live = TW_NEW_ARRAY(e->b->arena, uint8_t, model->value_count);
    if (!e->home || !e->live) return false;
    live_loop(e, 0);
    for (uint32_t v = 0; v < model->value_count; v++) e->home[v] = e->live[v] ? home_of(e, &model->values[v]) : TW_NONE;
    use_items(e, 0);
    for (uint32_t c = 0; c < model->carried_count; c++) {
        const tw_carried *carried = &model->carried[c];
        if (carried->init != TW_NONE && e->live[carried->init]) use_in(e, e->home[carried->init], model->loops[carried->loop].parent);
        if (carried->next != TW_NONE && e->live[carried->next]) use_in(e, e->home[carried->next], carried->loop);
    }
    return e->found != TW_NONE;
}

static bool lower_escaping_ifs(tw_builder *b)
{
    escape e = {.b = b};
    for (uint32_t n = 0; n < TW_MODEL_MAX_LOOPS && find_escape(&e); n++) {
        uint32_t parent = b->model->loops[e.found].parent, at = 0;
        tw_model_loop *around = &b->model->loops[parent];
        while (at < around->item_count && (around->items[at].kind != TW_ITEM_LOOP || around->items[at].index != e.found)) at++;
        if (at == around->item_count) return true;
        if (!predicate_items(b, e.found, parent) || !tw_build_splice(b, parent, at)) return false;
    }
    return true;
}

/* ---- affines ---- */

static void set_depths(tw_model *model)
{
    /* A merge can leave a parent behind its child's number only if numbers were reused; they aren't. */
    for (uint32_t l = 0; l < model->loop_count; l++)
        model->loops[l].depth = model->loops[l].parent == TW_NONE ? 0 : model->loops[model->loops[l].parent].depth + 1;
}

static bool finish_affine(tw_builder *b, uint32_t index, bool *ok)
{
    tw_model *model = b->model;
    tw_affine *affine = &model->affines[index];
    const tw_poly *rest = b->affine[index], *coef;
    uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(model, b->affine_loop[index], chain);
    *affine = (tw_affine){.bits = rest->bits, .loop = b->affine_loop[index]};
    for (uint32_t d = 0; d < TW_MODEL_MAX_DEPTH; d++) affine->coef[d] = TW_NONE;
    *ok = false;
    for (uint32_t d = 0; d < length; d++) {
        tw_loop natural = b->natural[chain[d]];
        uint64_t value;
        if (natural == TW_NO_LOOP || !tw_poly_has(rest, tw_atom_make(TW_ATOM_COUNTER, natural))) continue;
        if (!tw_poly_linear(b->arena, rest, tw_atom_make(TW_ATOM_COUNTER, natural), &coef, &rest)) return true;
        if (tw_poly_is_const(coef, &value) && !value) continue;
        affine->coef[d] = tw_build_expr(b, coef);
        if (affine->coef[d] == TW_NONE || model->exprs[affine->coef[d]].counters) return true;
    }
    affine->base = tw_build_expr(b, rest);
    if (affine->base == TW_NONE || model->exprs[affine->base].counters) return true;
    *ok = true;
    return true;
}

/* ---- marking ---- */

static void mark_expr(finisher *f, uint32_t expr)
{
    if (expr == TW_NONE || f->expr[expr] != TW_NONE) return;
    f->expr[expr] = 1;
    mark_expr(f, f->model->exprs[expr].a);
    mark_expr(f, f->model->exprs[expr].b);
    mark_expr(f, f->model->exprs[expr].c);
}

static void mark_affine(finisher *f, uint32_t affine)
{
    if (f->affine[affine] == TW_NONE) f->affine[affine] = 1; /* 2: finished already */
}

static void mark_access(finisher *f, uint32_t access)
{
    f->access[access] = 1;
    mark_affine(f, f->model->accesses[access].address);
}

static void mark_value(finisher *f, uint32_t value)
{
    if (value == TW_NONE || f->value[value] != TW_NONE) return;
    f->value[value] = 1;
    const tw_value_node *node = &f->model->values[value];
    if (node->kind == TW_VALUE_AFFINE) mark_affine(f, node->index);
    for (int a = 0; a < 3; a++) mark_value(f, node->args[a]);
    if (node->kind != TW_VALUE_CARRIED && node->kind != TW_VALUE_FINAL) return;
    f->carried[node->index] = 1;
    mark_value(f, f->model->carried[node->index].init);
    mark_value(f, f->model->carried[node->index].next);
}

static void mark_loop(finisher *f, uint32_t loop)
{
    const tw_model_loop *l = &f->model->loops[loop];
    f->loop[loop] = 1;
    mark_expr(f, l->trips);
    for (uint32_t i = 0; i < l->item_count; i++) {
        if (l->items[i].kind == TW_ITEM_LOOP) {
            mark_loop(f, l->items[i].index);
            continue;
        }
        mark_access(f, l->items[i].index);
        mark_value(f, l->items[i].value);
        mark_value(f, l->items[i].guard);
    }
}

/* ---- copying ---- */

static uint32_t number(uint32_t *map, uint32_t count)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < count; i++)
        if (map[i] != TW_NONE) map[i] = next++;
    return next;
}

static uint32_t renamed(const uint32_t *map, uint32_t index)
{
    return index == TW_NONE ? TW_NONE : map[index];
}

static void copy_exprs(finisher *f)
{
    tw_model *m = f->model;
    for (uint32_t i = 0; i < m->expr_count; i++) {
        if (f->expr[i] == TW_NONE) continue;
        tw_expr_node node = m->exprs[i];
        node.a = renamed(f->expr, node.a);
        node.b = renamed(f->expr, node.b);
        node.c = renamed(f->expr, node.c);
        if (node.kind == TW_EXPR_COUNTER) node.index = f->loop[node.index];
        if (node.kind == TW_EXPR_LOAD) node.index = 0;
        node.counters = 0;
        for (uint32_t l = 0; l < m->loop_count; l++)
            if (m->exprs[i].counters >> l & 1 && f->loop[l] != TW_NONE) node.counters |= UINT32_C(1) << f->loop[l];
        m->exprs[f->expr[i]] = node;
    }
}

static void copy_values(finisher *f)
{
    tw_model *m = f->model;
    for (uint32_t i = 0; i < m->value_count; i++) {
        if (f->value[i] == TW_NONE) continue;
        tw_value_node node = m->values[i];
        for (int a = 0; a < 3; a++) node.args[a] = renamed(f->value, node.args[a]);
        if (node.kind == TW_VALUE_AFFINE) node.index = f->affine[node.index];
        if (node.kind == TW_VALUE_READ) node.index = f->access[node.index];
        if (node.kind == TW_VALUE_CARRIED || node.kind == TW_VALUE_FINAL) node.index = f->carried[node.index];
        m->values[f->value[i]] = node;
    }
    for (uint32_t i = 0; i < m->carried_count; i++) {
        if (f->carried[i] == TW_NONE) continue;
        tw_carried carried = m->carried[i];
        carried.loop = f->loop[carried.loop];
        carried.init = renamed(f->value, carried.init);
        carried.next = renamed(f->value, carried.next);
        m->carried[f->carried[i]] = carried;
    }
}

static void copy_accesses(finisher *f)
{
    tw_model *m = f->model;
    for (uint32_t i = 0; i < m->affine_count; i++) {
        if (f->affine[i] == TW_NONE) continue;
        tw_affine affine = m->affines[i];
        affine.loop = renamed(f->loop, affine.loop);
        affine.base = f->expr[affine.base];
        for (uint32_t d = 0; d < TW_MODEL_MAX_DEPTH; d++) affine.coef[d] = renamed(f->expr, affine.coef[d]);
        m->affines[f->affine[i]] = affine;
    }
    for (uint32_t i = 0; i < m->access_count; i++) {
        if (f->access[i] == TW_NONE) continue;
        tw_model_access access = m->accesses[i];
        access.loop = renamed(f->loop, access.loop);
        access.address = f->affine[access.address];
        m->accesses[f->access[i]] = access;
    }
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < m->apart_count; i++) {
        uint32_t x = f->access[m->apart[i].first], y = f->access[m->apart[i].second];
        if (x != TW_NONE && y != TW_NONE) m->apart[pairs++] = (tw_pair){x, y};
    }
    m->apart_count = pairs;
}

static void copy_loops(finisher *f)
{
    tw_model *m = f->model;
    for (uint32_t i = 0; i < m->loop_count; i++) {
        if (f->loop[i] == TW_NONE) continue;
        tw_model_loop loop = m->loops[i];
        loop.parent = renamed(f->loop, loop.parent);
        loop.trips = f->expr[loop.trips];
        for (uint32_t k = 0; k < loop.item_count; k++) {
            tw_item *item = &loop.items[k];
            item->index = item->kind == TW_ITEM_LOOP ? f->loop[item->index] : f->access[item->index];
            item->value = renamed(f->value, item->value);
            item->guard = renamed(f->value, item->guard);
        }
        m->loops[f->loop[i]] = loop;
    }
    for (uint32_t i = 0; i < m->check_count; i++) {
        m->checks[i].expr = f->expr[m->checks[i].expr];
        m->checks[i].loop = renamed(f->loop, m->checks[i].loop);
    }
    for (uint32_t i = 0; i < m->limit_count; i++) {
        m->limits[i].affine = f->affine[m->limits[i].affine];
        m->limits[i].bound = renamed(f->expr, m->limits[i].bound);
        m->limits[i].other = renamed(f->affine, m->limits[i].other);
    }
    for (uint32_t i = 0; i < m->live_out_count; i++) m->live_outs[i].affine = renamed(f->affine, m->live_outs[i].affine);
    for (uint32_t i = 0; i < m->header_count; i++) m->headers[i].step = renamed(f->expr, m->headers[i].step);
}

static uint32_t *new_map(finisher *f, uint32_t count)
{
    uint32_t *map = TW_NEW_ARRAY(f->b->arena, uint32_t, count);
    if (map) memset(map, 0xFF, count * sizeof *map);
    return map;
}

/* Plan loads that are still in use keep their access, so that stores are held against it. */
static void mark_inspected(finisher *f)
{
    const tw_model *m = f->model;
    for (uint32_t i = 0; i < m->expr_count; i++)
        if (f->expr[i] != TW_NONE && m->exprs[i].kind == TW_EXPR_LOAD) mark_access(f, m->exprs[i].index);
}

static bool refuse_limit(const finisher *f, uint32_t limit, const char *why)
{
    return tw_refuse(f->b->reason, TW_REFUSAL_EXIT, "the way out at 0x%" PRIx64 " %s", f->model->limits[limit].place, why);
}

static bool refuse_affine(const finisher *f, uint32_t affine)
{
    const tw_model *m = f->model;
    for (uint32_t l = 0; l < m->limit_count; l++)
        if (m->limits[l].affine == affine || m->limits[l].other == affine) return refuse_limit(f, l, "is taken on a condition that isn't linear in the loop counters");
    uint64_t place = TW_NO_OFFSET;
    for (uint32_t x = 0; x < m->access_count; x++)
        if (m->accesses[x].address == affine && f->access[x] != TW_NONE) place = m->accesses[x].place;
    return tw_refuse(f->b->reason, TW_REFUSAL_ADDRESS, "the address at 0x%" PRIx64 " isn't linear in the loop counters", place);
}

static bool mark_all(finisher *f)
{
    tw_model *m = f->model;
    f->loop = new_map(f, m->loop_count);
    f->access = new_map(f, TW_MODEL_MAX_ACCESSES); /* the two that grow while affines are made */
    f->value = new_map(f, m->value_count);
    f->carried = new_map(f, m->carried_count);
    f->affine = new_map(f, TW_MODEL_MAX_VALUES);
    if (!f->loop || !f->access || !f->value || !f->carried || !f->affine) return fail_memory(f->b);
    f->expr = new_map(f, TW_MODEL_MAX_EXPRS);
    if (!f->expr) return fail_memory(f->b);
    mark_loop(f, 0);
    for (uint32_t l = 0; l < m->loop_count; l++)
        if (f->loop[l] != TW_NONE && m->loops[l].depth >= TW_MODEL_MAX_DEPTH)
            return tw_refuse(f->b->reason, TW_REFUSAL_TOO_BIG, "the loops nest %u deep", m->loops[l].depth + 1);
    for (uint32_t i = 0; i < m->check_count; i++) mark_expr(f, m->checks[i].expr);
    for (uint32_t i = 0; i < m->limit_count; i++) {
        mark_affine(f, m->limits[i].affine);
        if (m->limits[i].other != TW_NONE) mark_affine(f, m->limits[i].other);
        mark_expr(f, m->limits[i].bound);
        if (f->loop[f->b->affine_loop[m->limits[i].affine]] == TW_NONE) return refuse_limit(f, i, "is in a loop that has been merged into another");
    }
    for (uint32_t i = 0; i < m->header_count; i++) mark_expr(f, m->headers[i].step);
    for (uint32_t i = 0; i < m->live_out_count; i++)
        if (m->live_outs[i].kind == TW_LIVE_OUT_AFFINE) mark_affine(f, m->live_outs[i].affine);
    mark_inspected(f);
    /* Making affines makes exprs, which may be plan loads, whose accesses have affines: until nothing is added. */
    for (bool more = true; more;) {
        more = false;
        for (uint32_t a = 0; a < m->affine_count; a++) {
            bool ok;
            if (f->affine[a] != 1) continue;
            finish_affine(f->b, a, &ok);
            if (!ok) return refuse_affine(f, a);
            f->affine[a] = 2;
            mark_expr(f, m->affines[a].base);
            for (uint32_t d = 0; d < TW_MODEL_MAX_DEPTH; d++) mark_expr(f, m->affines[a].coef[d]);
            mark_inspected(f);
            more = true;
        }
    }
    return true;
}

static bool has_store(const tw_model *model)
{
    for (uint32_t x = 0; x < model->access_count; x++)
        if (model->accesses[x].is_store) return true;
    return false;
}

static bool keep_affines(tw_model *model)
{
    tw_affine *kept = TW_NEW_ARRAY(&model->arena, tw_affine, model->affine_count);
    if (!kept) return false;
    if (model->affine_count) memcpy(kept, model->affines, model->affine_count * sizeof *kept);
    model->affines = kept;
    model->affine_capacity = model->affine_count;
    return true;
}

bool tw_build_finish(tw_builder *b)
{
    finisher f = {.b = b, .model = b->model};
    tw_model *m = b->model;
    if (!lower_varying_ifs(b) || !lower_escaping_ifs(b)) return false;
    set_depths(m);
    m->affines = TW_NEW_ARRAY(b->arena, tw_affine, TW_MODEL_MAX_VALUES); /* scratch: a model keeps a few of them */
    if (!m->affines) return fail_memory(b);
    m->affine_capacity = TW_MODEL_MAX_VALUES;
    if (!mark_all(&f)) return false;
    uint32_t loops = number(f.loop, m->loop_count), exprs = number(f.expr, m->expr_count), affines = number(f.affine, m->affine_count),
             accesses = number(f.access, m->access_count), values = number(f.value, m->value_count), carried = number(f.carried, m->carried_count);
    copy_exprs(&f);
    copy_values(&f);
    copy_accesses(&f);
    copy_loops(&f);
    m->loop_count = loops;
    m->expr_count = exprs;
    m->affine_count = affines;
    m->access_count = accesses;
    m->value_count = values;
    m->carried_count = carried;
    if (!keep_affines(m)) return fail_memory(b);
    if (!has_store(m)) return tw_refuse(b->reason, TW_REFUSAL_NO_STORE, "no store in the loop");
    return true;
}
