/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir.h"

#include <string.h>

typedef struct visit {
    tw_ir_block block;
    uint32_t edge;
} visit;

/* Depth-first with an own stack; the deepest path has each block once. Edges are taken last first, so that
 * among siblings the order is that of the edges. */
uint32_t tw_ir_order(const tw_ir_func *func, tw_arena *scratch, tw_ir_block *order, uint32_t *position)
{
    uint32_t n = func->block_count, depth = 0, filled = n;
    visit *stack = TW_NEW_ARRAY(scratch, visit, n);
    if (!stack) return UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) position[i] = UINT32_MAX;
    if (n) {
        stack[depth++] = (visit){0, func->blocks[0].edge_count};
        position[0] = 0;
    }
    while (depth) {
        visit *top = &stack[depth - 1];
        if (top->edge == 0) {
            order[--filled] = top->block;
            depth--;
            continue;
        }
        tw_ir_block to = func->blocks[top->block].edges[--top->edge].to;
        if (position[to] != UINT32_MAX) continue;
        position[to] = 0;
        stack[depth++] = (visit){to, func->blocks[to].edge_count};
    }
    uint32_t count = n - filled;
    if (count) memmove(order, order + filled, count * sizeof *order);
    for (uint32_t i = 0; i < count; i++) position[order[i]] = i;
    return count;
}

/* Dominators by Lengauer and Tarjan, the simple version with path compression. The iterative method that most
 * compilers use is quadratic on graphs a hostile module can be made to have; this one isn't. Nodes are named by
 * their preorder number here, 1 is the root, 0 is none. */
typedef struct lt {
    uint32_t *number, *node;      /* node ↔ preorder number */
    uint32_t *parent, *ancestor;  /* depth-first tree; the forest grown so far */
    uint32_t *semi, *label, *dom;
    uint32_t *bucket, *next;      /* lists: of number, by semidominator */
    uint32_t *path;               /* also the stack of the walk */
    uint32_t *pred_start, *pred;
    uint32_t count;
} lt;

static bool lt_alloc(lt *t, tw_arena *scratch, uint32_t n, uint32_t edges)
{
    uint32_t **arrays[] = {&t->number, &t->node, &t->parent, &t->ancestor, &t->semi, &t->label,
                           &t->dom, &t->bucket, &t->next, &t->path};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = TW_NEW_ARRAY(scratch, uint32_t, (size_t)n + 2);
        if (!*arrays[i]) return false;
    }
    t->pred_start = TW_NEW_ARRAY(scratch, uint32_t, (size_t)n + 3);
    t->pred = TW_NEW_ARRAY(scratch, uint32_t, edges);
    return t->pred_start && t->pred;
}

/* Numbers nodes in preorder; `label` holds each stacked node's next edge meanwhile. */
static void lt_number(lt *t, const uint32_t *start, const uint32_t *to, uint32_t root)
{
    uint32_t depth = 0;
    t->number[root] = t->count = 1;
    t->node[1] = root;
    t->path[depth] = 1;
    t->label[1] = start[root];
    for (;;) {
        uint32_t at = t->path[depth], node = t->node[at];
        if (t->label[at] == start[node + 1]) {
            if (depth-- == 0) return;
            continue;
        }
        uint32_t next = to[t->label[at]++];
        if (t->number[next]) continue;
        uint32_t number = ++t->count;
        t->number[next] = number;
        t->node[number] = next;
        t->parent[number] = at;
        t->label[number] = start[next];
        t->path[++depth] = number;
    }
}

static void lt_predecessors(lt *t, const uint32_t *start, const uint32_t *to)
{
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t at = t->count; at > 0; at--)
            for (uint32_t e = start[t->node[at]]; e < start[t->node[at] + 1]; e++) {
                uint32_t number = t->number[to[e]];
                if (pass == 0) t->pred_start[number + 1]++;
                else t->pred[--t->pred_start[number + 1]] = at;
            }
        if (pass == 0)
            for (uint32_t i = 1; i <= t->count + 2; i++) t->pred_start[i] += t->pred_start[i - 1];
    }
}

/* The node of least semidominator on the way from v up to the root of its tree in the forest. */
static uint32_t lt_eval(lt *t, uint32_t v)
{
    if (!t->ancestor[v]) return v;
    uint32_t depth = 0;
    for (uint32_t u = v; t->ancestor[t->ancestor[u]]; u = t->ancestor[u]) t->path[depth++] = u;
    while (depth) {
        uint32_t u = t->path[--depth], up = t->ancestor[u];
        if (t->semi[t->label[up]] < t->semi[t->label[u]]) t->label[u] = t->label[up];
        t->ancestor[u] = t->ancestor[up];
    }
    return t->label[v];
}

static void lt_solve(lt *t)
{
    for (uint32_t w = 1; w <= t->count; w++) t->semi[w] = t->label[w] = w;
    for (uint32_t w = t->count; w >= 2; w--) {
        for (uint32_t e = t->pred_start[w + 1]; e < t->pred_start[w + 2]; e++) {
            uint32_t semi = t->semi[lt_eval(t, t->pred[e])];
            if (semi < t->semi[w]) t->semi[w] = semi;
        }
        t->next[w] = t->bucket[t->semi[w]];
        t->bucket[t->semi[w]] = w;
        uint32_t parent = t->parent[w];
        t->ancestor[w] = parent;
        for (uint32_t v = t->bucket[parent]; v; v = t->next[v]) {
            uint32_t u = lt_eval(t, v);
            t->dom[v] = t->semi[u] < t->semi[v] ? u : parent;
        }
        t->bucket[parent] = 0;
    }
    for (uint32_t w = 2; w <= t->count; w++)
        if (t->dom[w] != t->semi[w]) t->dom[w] = t->dom[t->dom[w]];
}

bool tw_graph_dominators(tw_arena *scratch, uint32_t count, const uint32_t *start, const uint32_t *to, uint32_t root,
                         uint32_t *idom)
{
    lt t = {0};
    for (uint32_t i = 0; i < count; i++) idom[i] = UINT32_MAX;
    if (root >= count) return true;
    if (!lt_alloc(&t, scratch, count, start[count])) return false;
    lt_number(&t, start, to, root);
    lt_predecessors(&t, start, to);
    lt_solve(&t);
    for (uint32_t w = 2; w <= t.count; w++) idom[t.node[w]] = t.node[t.dom[w]];
    return true;
}

bool tw_ir_dominators(const tw_ir_func *func, tw_arena *scratch, tw_ir_block *idom)
{
    size_t edges = 0;
    for (uint32_t i = 0; i < func->block_count; i++) edges += func->blocks[i].edge_count;
    uint32_t *start = TW_NEW_ARRAY(scratch, uint32_t, (size_t)func->block_count + 1);
    uint32_t *to = TW_NEW_ARRAY(scratch, uint32_t, edges);
    if (!start || !to || edges >= UINT32_MAX) return false;
    uint32_t at = 0;
    for (uint32_t i = 0; i < func->block_count; i++) {
        for (uint32_t e = 0; e < func->blocks[i].edge_count; e++) to[at++] = func->blocks[i].edges[e].to;
        start[i + 1] = at;
    }
    return tw_graph_dominators(scratch, func->block_count, start, to, 0, idom);
}

bool tw_ir_dominance(const tw_ir_func *func, tw_arena *scratch, const tw_ir_block *order, uint32_t count,
                     const tw_ir_block *idom, uint32_t *in, uint32_t *out)
{
    uint32_t *size = TW_NEW_ARRAY(scratch, uint32_t, func->block_count);
    uint32_t *next = TW_NEW_ARRAY(scratch, uint32_t, func->block_count);
    if (!size || !next) return false;
    for (uint32_t i = 0; i < func->block_count; i++) {
        in[i] = UINT32_MAX;
        out[i] = 0;
    }
    /* A dominator comes before what it dominates in reverse post-order. */
    for (uint32_t i = count; i-- > 0;) {
        size[order[i]]++;
        if (i) size[idom[order[i]]] += size[order[i]];
    }
    for (uint32_t i = 0; i < count; i++) {
        tw_ir_block block = order[i];
        in[block] = i ? next[idom[block]] : 0;
        out[block] = in[block] + size[block] - 1;
        next[block] = in[block] + 1;
        if (i) next[idom[block]] += size[block];
    }
    return true;
}
