/* SPDX-License-Identifier: Apache-2.0 */
#include "region/builder.h"

#include <string.h>

#include "region/match.h"

/* A guest's compiler keeps in a local what it has just stored and the next iteration loads: A[i][j-1] of a loop that stores
 * A[i][j]. That hides from us that iterations are tied by memory alone, and what memory ties may run in wavefronts. Here such scalars
 * are read back from where they lie:
 *
 *   init    a read directly before the loop, with no store between
 *   next    what the loop's last store stores, whole and always
 *   cells   the store's address one step before its first one is the read's: an identity, or a check on arrival
 *
 * Then the scalar is the read, now walking with the loop, one step behind the store. After the loop it is the last cell
 * stored. In a loop that stores several times what one statement stored may go to the next in a local as well; there the later
 * one reads it back from the cell, or copies that the guest's compiler unrolled wouldn't look alike.
 *
 * This makes a second model, for arrivals on which the first one has no parallel loop: a register is quicker than a load. */

static bool stores_whole(const tw_model_access *load, const tw_model_access *store)
{
    switch (load->op) {
    case TW_OP_I32_LOAD: return store->op == TW_OP_I32_STORE;
    case TW_OP_I64_LOAD: return store->op == TW_OP_I64_STORE;
    case TW_OP_F32_LOAD: return store->op == TW_OP_F32_STORE;
    case TW_OP_F64_LOAD: return store->op == TW_OP_F64_STORE;
    default: return false;
    }
}

static tw_op load_for(tw_op store)
{
    switch (store) {
    case TW_OP_I32_STORE: return TW_OP_I32_LOAD;
    case TW_OP_I64_STORE: return TW_OP_I64_LOAD;
    case TW_OP_F32_STORE: return TW_OP_F32_LOAD;
    default: return TW_OP_F64_LOAD;
    }
}

/* ---- parts of the model ---- */

static bool insert_item(tw_builder *b, uint32_t loop, uint32_t at, tw_item item)
{
    if (!tw_build_add_item(b, loop, item)) return false;
    tw_item *items = b->model->loops[loop].items;
    memmove(&items[at + 1], &items[at], (b->model->loops[loop].item_count - 1 - at) * sizeof *items);
    items[at] = item;
    return true;
}

static void remove_item(tw_builder *b, uint32_t loop, uint32_t at)
{
    tw_model_loop *l = &b->model->loops[loop];
    memmove(&l->items[at], &l->items[at + 1], (l->item_count - at - 1) * sizeof *l->items);
    l->item_count--;
}

/* A read of `poly` plus the offset in `loop`; its access. TW_NONE: no room. */
static uint32_t new_read(tw_builder *b, tw_op op, const tw_poly *poly, uint64_t offset, uint64_t place, uint32_t loop)
{
    tw_model *m = b->model;
    if (!poly || m->affine_count >= TW_MODEL_MAX_VALUES || m->access_count >= TW_MODEL_MAX_ACCESSES) return TW_NONE;
    if (!TW_ARENA_GROW(&m->arena, m->accesses, m->access_count, m->access_capacity)) return TW_NONE;
    b->affine[m->affine_count] = poly;
    b->affine_loop[m->affine_count] = loop;
    m->accesses[m->access_count] = (tw_model_access){.op = (uint16_t)op, .width = tw_op_describe(op)->access, .loop = loop,
                                                     .address = m->affine_count++, .offset = offset, .place = place};
    return m->access_count++;
}

static tw_item read_item(uint32_t access, uint32_t value)
{
    return (tw_item){.kind = TW_ITEM_READ, .index = access, .value = value, .guard = TW_NONE};
}

/* Equal operations are one node: what is replaced next is looked for by its number. */
static uint32_t copy_value(tw_builder *b, tw_value_node node)
{
    tw_model *m = b->model;
    for (uint32_t v = 0; node.kind == TW_VALUE_OP && v < m->value_count; v++)
        if (!memcmp(&m->values[v], &node, sizeof node)) return v;
    if (m->value_count >= TW_MODEL_MAX_VALUES || !TW_ARENA_GROW(&m->arena, m->values, m->value_count, m->value_capacity)) return TW_NONE;
    m->values[m->value_count] = node;
    return m->value_count++;
}

static bool is_used(const tw_model *m, uint32_t value, uint32_t but_carried)
{
    for (uint32_t v = 0; v < m->value_count; v++)
        for (int i = 0; i < 3; i++)
            if (m->values[v].args[i] == value) return true;
    for (uint32_t c = 0; c < m->carried_count; c++)
        if (c != but_carried && (m->carried[c].init == value || m->carried[c].next == value)) return true;
    for (uint32_t l = 0; l < m->loop_count; l++)
        for (uint32_t i = 0; i < m->loops[l].item_count; i++) {
            const tw_item *item = &m->loops[l].items[i];
            if (item->guard == value || (item->kind == TW_ITEM_STORE && item->value == value)) return true;
        }
    return false;
}

/* ---- a scalar that memory has ---- */

typedef struct recalled {
    uint32_t carried, loop, parent;
    uint32_t init_item, store_item, store; /* items' indices; the store's access */
    const tw_poly *cell;                   /* where it lies, as a function of the loop's counter */
} recalled;

/* The read that the scalar starts with; nothing but reads between it and the loop. */
static bool find_init(const tw_builder *b, recalled *r)
{
    const tw_model *m = b->model;
    const tw_model_loop *parent = &m->loops[r->parent];
    bool seen = false;
    for (uint32_t i = parent->item_count; i-- > 0;) {
        const tw_item *item = &parent->items[i];
        if (item->kind == TW_ITEM_LOOP && item->index == r->loop) seen = true;
        else if (seen && item->kind != TW_ITEM_READ) return false;
        else if (seen && item->value == m->carried[r->carried].init) return r->init_item = i, item->guard == TW_NONE;
    }
    return false;
}

/* The loop's last store stores what the next iteration gets. */
static bool find_store(const tw_builder *b, recalled *r)
{
    const tw_model_loop *loop = &b->model->loops[r->loop];
    bool found = false;
    for (uint32_t i = 0; i < loop->item_count; i++) {
        if (loop->items[i].kind == TW_ITEM_LOOP) return false;
        if (loop->items[i].kind != TW_ITEM_STORE) continue;
        r->store_item = i, r->store = loop->items[i].index;
        found = loop->items[i].guard == TW_NONE && loop->items[i].value == b->model->carried[r->carried].next;
    }
    return found;
}

/* A number, or over symbols alone a check on arrival. */
static bool is_zero(tw_builder *b, const tw_poly *poly)
{
    uint64_t value;
    if (!poly) return false;
    if (tw_poly_is_const(poly, &value)) return value == 0;
    if (!tw_match_only_symbols(b, poly)) return false;
    return tw_match_check(b, tw_expr_equal(b->model, poly->bits, tw_build_expr(b, poly), tw_expr_const(b->model, poly->bits, 0)), TW_NONE);
}

/* x == y whatever the counters are: coefficient by coefficient. */
static bool same_for_all(tw_builder *b, const tw_poly *x, const tw_poly *y)
{
    const tw_poly *gap = x->bits == y->bits ? tw_poly_sub(b->arena, x, y) : NULL, *coef;
    for (tw_loop l = 0; gap && l < b->loops->count; l++) {
        tw_atom counter = tw_atom_make(TW_ATOM_COUNTER, l);
        if (!tw_poly_has(gap, counter)) continue;
        if (!tw_poly_linear(b->arena, gap, counter, &coef, &gap) || !is_zero(b, coef)) return false;
    }
    return is_zero(b, gap);
}

/* The cell one step before the store's, and that it is the read's for counter 0. */
static bool find_cell(tw_builder *b, recalled *r)
{
    const tw_model *m = b->model;
    const tw_model_access *store = &m->accesses[r->store];
    const tw_model_access *load = &m->accesses[m->loops[r->parent].items[r->init_item].index];
    const tw_poly *address = b->affine[store->address], *first = b->affine[load->address], *step, *rest;
    tw_atom counter = tw_atom_make(TW_ATOM_COUNTER, b->natural[r->loop]);
    if (!stores_whole(load, store) || load->offset != store->offset || load->is_inspected || load->is_indirect) return false;
    if (!address || !first || !tw_poly_linear(b->arena, address, counter, &step, &rest)) return false;
    r->cell = tw_poly_sub(b->arena, address, step);
    const tw_poly *begin = tw_poly_sub(b->arena, rest, step);
    return r->cell && begin && same_for_all(b, begin, first);
}

static bool may_be_recalled(tw_builder *b, uint32_t carried, recalled *r)
{
    const tw_model *m = b->model;
    *r = (recalled){.carried = carried, .loop = m->carried[carried].loop};
    if (r->loop == TW_NONE || b->natural[r->loop] == TW_NO_LOOP) return false;
    r->parent = m->loops[r->loop].parent;
    uint32_t checks = m->check_count;
    if (r->parent != TW_NONE && find_init(b, r) && find_store(b, r) && find_cell(b, r)) return true;
    b->model->check_count = checks;
    return false;
}

static void set_values(tw_model *m, uint8_t kind, uint32_t carried, uint32_t access)
{
    for (uint32_t v = 0; v < m->value_count; v++)
        if (m->values[v].kind == kind && m->values[v].index == carried) m->values[v].kind = TW_VALUE_READ, m->values[v].index = access;
}

static uint32_t value_of(const tw_model *m, uint8_t kind, uint32_t carried)
{
    for (uint32_t v = 0; v < m->value_count; v++)
        if (m->values[v].kind == kind && m->values[v].index == carried) return v;
    return TW_NONE;
}

static uint32_t place_of_loop(const tw_model_loop *parent, uint32_t loop)
{
    uint32_t at = 0;
    while (parent->items[at].kind != TW_ITEM_LOOP || parent->items[at].index != loop) at++;
    return at;
}

/* By value: made of `from`? */
static bool find_made_of(const tw_builder *b, uint32_t from, bool **out)
{
    const tw_model *m = b->model;
    bool *made = *out = TW_NEW_ARRAY(b->arena, bool, m->value_count);
    for (uint32_t v = 0; made && v < m->value_count; v++) {
        made[v] = v == from;
        for (int i = 0; i < 3 && m->values[v].args[i] != TW_NONE; i++) made[v] |= made[m->values[v].args[i]];
    }
    return made != NULL;
}

/* The remainder that an `if` behind the loop is: where the final value is used there alone, it is read there. TW_NONE: it isn't. */
static uint32_t remainder_using(const tw_builder *b, const recalled *r, uint32_t final)
{
    const tw_model *m = b->model;
    const tw_model_loop *parent = &m->loops[r->parent];
    uint32_t at = place_of_loop(parent, r->loop) + 1;
    bool *made;
    if (at >= parent->item_count || parent->items[at].kind != TW_ITEM_LOOP || !find_made_of(b, final, &made)) return TW_NONE;
    uint32_t rest = parent->items[at].index;
    if (!m->loops[rest].is_if) return TW_NONE;
    for (uint32_t l = 0; l < m->loop_count; l++)
        for (uint32_t i = 0; i < m->loops[l].item_count; i++) {
            const tw_item *item = &m->loops[l].items[i];
            if (l == rest ? item->kind == TW_ITEM_LOOP : item->kind == TW_ITEM_STORE && made[item->value]) return TW_NONE;
            if (l != rest && item->guard != TW_NONE && made[item->guard]) return TW_NONE;
        }
    for (uint32_t c = 0; c < m->carried_count; c++)
        if (m->carried[c].init != TW_NONE && c != r->carried && (made[m->carried[c].init] || made[m->carried[c].next])) return TW_NONE;
    return rest;
}

/* After the loop: the cell of a further iteration's predecessor, counter = ARRIVALS. */
static bool recall_final(tw_builder *b, const recalled *r, tw_op op, uint32_t value)
{
    const tw_model_access *store = &b->model->accesses[r->store];
    tw_loop natural = b->natural[r->loop];
    const tw_poly *arrivals = tw_poly_atom(b->arena, r->cell->bits, tw_atom_make(TW_ATOM_ARRIVALS, natural));
    const tw_poly *last = arrivals ? tw_poly_substitute(b->arena, r->cell, tw_atom_make(TW_ATOM_COUNTER, natural), arrivals) : NULL;
    uint32_t rest = remainder_using(b, r, value);
    uint32_t access = new_read(b, op, last, store->offset, store->place, rest != TW_NONE ? rest : r->parent);
    if (access == TW_NONE) return false;
    set_values(b->model, TW_VALUE_FINAL, r->carried, access);
    if (rest != TW_NONE) return insert_item(b, rest, 0, read_item(access, value));
    return insert_item(b, r->parent, place_of_loop(&b->model->loops[r->parent], r->loop) + 1, read_item(access, value));
}

/* False: the model is spoilt. */
static bool recall(tw_builder *b, const recalled *r)
{
    tw_model *m = b->model;
    const tw_model_access *store = &m->accesses[r->store];
    tw_op op = load_for((tw_op)store->op);
    uint32_t now = value_of(m, TW_VALUE_CARRIED, r->carried), final = value_of(m, TW_VALUE_FINAL, r->carried);
    uint32_t init = m->carried[r->carried].init;
    if (final != TW_NONE && b->top_tested[b->natural[r->loop]]) return false;
    uint32_t access = new_read(b, op, r->cell, store->offset, store->place, r->loop);
    if (access == TW_NONE || now == TW_NONE) return false;
    set_values(m, TW_VALUE_CARRIED, r->carried, access);
    if (!insert_item(b, r->loop, 0, read_item(access, now))) return false;
    if (final != TW_NONE && !recall_final(b, r, op, final)) return false;
    m->carried[r->carried] = (tw_carried){.loop = TW_NONE, .type = m->carried[r->carried].type, .init = TW_NONE, .next = TW_NONE};
    if (!is_used(m, init, r->carried)) remove_item(b, r->parent, r->init_item);
    return true;
}

/* ---- from one statement to the next ---- */

enum { DEEPEST = 40, MOST_STEPS = 100, MOST_STORES = 8 };

/* `value` with `to` for `from`; the value itself where that doesn't occur. TW_NONE: no room, or it takes too long. */
static uint32_t replace(tw_builder *b, uint32_t value, uint32_t from, uint32_t to, uint32_t depth, uint32_t *steps)
{
    if (value == from) return to;
    if (++*steps > MOST_STEPS) return TW_NONE;
    tw_value_node node = b->model->values[value];
    bool changed = false;
    for (int i = 0; i < 3 && node.args[i] != TW_NONE; i++) {
        uint32_t arg = depth < DEEPEST ? replace(b, node.args[i], from, to, depth + 1, steps) : TW_NONE;
        if (arg == TW_NONE || (node.kind != TW_VALUE_OP && arg != node.args[i])) return TW_NONE; /* a read is where its item is */
        changed |= arg != node.args[i];
        node.args[i] = arg;
    }
    return changed ? copy_value(b, node) : value;
}

/* What the store at item `at` stored, later stores read back. */
static bool read_back(tw_builder *b, uint32_t loop, uint32_t at)
{
    tw_model *m = b->model;
    const tw_item store = m->loops[loop].items[at];
    const tw_model_access *access = &m->accesses[store.index];
    tw_op op = load_for((tw_op)access->op);
    if (m->values[store.value].kind != TW_VALUE_OP) return true;
    uint32_t read = new_read(b, op, b->affine[access->address], access->offset, access->place, loop);
    if (read == TW_NONE) return false;
    uint32_t value = copy_value(b, (tw_value_node){.kind = TW_VALUE_READ, .type = m->values[store.value].type, .index = read,
                                                   .args = {TW_NONE, TW_NONE, TW_NONE}});
    bool used = false;
    for (uint32_t i = at + 1; value != TW_NONE && i < m->loops[loop].item_count; i++) {
        tw_item *later = &m->loops[loop].items[i];
        if (later->kind != TW_ITEM_STORE) continue;
        uint32_t steps = 0, by = replace(b, later->value, store.value, value, 0, &steps);
        if (by == TW_NONE) return false;
        used |= by != later->value;
        later->value = by;
    }
    return value != TW_NONE && (!used || insert_item(b, loop, at + 1, read_item(read, value)));
}

static bool is_whole(tw_op store)
{
    return store == TW_OP_I32_STORE || store == TW_OP_I64_STORE || store == TW_OP_F32_STORE || store == TW_OP_F64_STORE;
}

static uint32_t count_stores(const tw_model_loop *loop)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < loop->item_count; i++) count += loop->items[i].kind == TW_ITEM_STORE;
    return count;
}

static bool read_statements_back(tw_builder *b, uint32_t loop)
{
    if (count_stores(&b->model->loops[loop]) > MOST_STORES) return true;
    for (uint32_t i = 0; i < b->model->loops[loop].item_count; i++) {
        const tw_item *item = &b->model->loops[loop].items[i];
        if (item->kind != TW_ITEM_STORE || item->guard != TW_NONE || !is_whole((tw_op)b->model->accesses[item->index].op)) continue;
        if (!read_back(b, loop, i)) return false;
    }
    return true;
}

bool tw_build_recall(tw_builder *b, bool *any)
{
    recalled r;
    *any = false;
    tw_build_collapse_ifs(b);
    for (uint32_t c = 0; c < b->model->carried_count; c++) {
        if (!may_be_recalled(b, c, &r)) continue;
        if (!recall(b, &r) || !read_statements_back(b, r.loop)) return false;
        *any = true;
    }
    return true;
}
