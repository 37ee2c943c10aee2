/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of facts, a line each, after the model's:
 *
 *   fact parallel n0 | dead n0 | varying n0
 *   fact free n0 1
 *   fact distance n1 1 -2          of the pair of n1 and the loop around it; n0 1 on and n1 2 back
 *   fact trips n0 1024
 *   fact stride x0 n1 zero | unit
 *   fact group x0 3
 *   fact canonical-nan | checked
 *
 * What isn't said is false, 0 or `any`. */

#include "region/facts.h"

#include "region/text.h"

static void print_loop_facts(const tw_facts *facts, uint32_t l, tw_bytes *out)
{
    if (facts->parallel[l]) tw_bytes_printf(out, "fact parallel n%u\n", l);
    if (facts->free[l]) tw_bytes_printf(out, "fact free n%u %u\n", l, facts->free[l]);
    if (facts->dead[l]) tw_bytes_printf(out, "fact dead n%u\n", l);
    if (facts->varying[l]) tw_bytes_printf(out, "fact varying n%u\n", l);
    if (facts->trips[l]) tw_bytes_printf(out, "fact trips n%u %llu\n", l, (unsigned long long)facts->trips[l]);
}

static void print_strides(const tw_model *model, const tw_facts *facts, uint32_t x, tw_bytes *out)
{
    uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(model, model->accesses[x].loop, chain);
    for (uint32_t d = 0; d < length; d++) {
        uint8_t stride = facts->stride[x][d];
        if (stride == TW_STRIDE_ANY) continue;
        tw_bytes_printf(out, "fact stride x%u n%u %s\n", x, chain[d], stride == TW_STRIDE_UNIT ? "unit" : "zero");
    }
}

void tw_facts_print(const tw_model *model, const tw_facts *facts, tw_bytes *out)
{
    for (uint32_t l = 0; l < model->loop_count; l++) print_loop_facts(facts, l, out);
    for (uint32_t x = 0; x < model->access_count; x++) print_strides(model, facts, x, out);
    for (uint32_t x = 0; x < model->access_count; x++)
        if (facts->group[x]) tw_bytes_printf(out, "fact group x%u %u\n", x, facts->group[x]);
    for (uint32_t i = 0; i < facts->distance_count; i++)
        tw_bytes_printf(out, "fact distance n%u %d %d\n", facts->pair, facts->distance[i].outer, facts->distance[i].inner);
    if (facts->canonical_nan) tw_bytes_append_string(out, "fact canonical-nan\n");
    if (facts->checked) tw_bytes_append_string(out, "fact checked\n");
}

static tw_status parse_ref(tw_text *text, char letter, uint32_t count, uint32_t *out)
{
    tw_text before = *text;
    TW_TRY(tw_text_index(text, letter, out));
    if (*out < count) return TW_OK;
    return tw_text_fail(&before, "there is no %c%u", letter, *out);
}

static tw_status parse_stride(const tw_model *model, tw_text *text, tw_facts *out)
{
    uint32_t x, loop, d = 0;
    TW_TRY(parse_ref(text, 'x', model->access_count, &x));
    TW_TRY(parse_ref(text, 'n', model->loop_count, &loop));
    uint32_t chain[TW_MODEL_MAX_DEPTH], length = tw_model_chain(model, model->accesses[x].loop, chain);
    while (d < length && chain[d] != loop) d++;
    if (d == length) return tw_text_fail(text, "n%u isn't around x%u", loop, x);
    out->stride[x][d] = tw_text_word(text, "unit") ? TW_STRIDE_UNIT : TW_STRIDE_ZERO;
    return out->stride[x][d] == TW_STRIDE_UNIT ? TW_OK : tw_text_expect(text, "zero");
}

static tw_status parse_group(const tw_model *model, tw_text *text, tw_facts *out)
{
    uint32_t x, group;
    TW_TRY(parse_ref(text, 'x', model->access_count, &x));
    TW_TRY(tw_text_u32(text, &group));
    if (group > UINT8_MAX) return tw_text_fail(text, "a group is below 256");
    out->group[x] = (uint8_t)group;
    return TW_OK;
}

/* parallel, dead, varying: a loop each. */
static tw_status parse_flag(const tw_model *model, tw_text *text, bool flags[TW_MODEL_MAX_LOOPS])
{
    uint32_t loop;
    TW_TRY(parse_ref(text, 'n', model->loop_count, &loop));
    flags[loop] = true;
    return TW_OK;
}

static tw_status parse_free(const tw_model *model, tw_text *text, tw_facts *out)
{
    uint32_t loop, levels;
    TW_TRY(parse_ref(text, 'n', model->loop_count, &loop));
    TW_TRY(tw_text_u32(text, &levels));
    if (levels > model->loops[loop].depth) return tw_text_fail(text, "there aren't %u loops around n%u", levels, loop);
    out->free[loop] = (uint8_t)levels;
    return TW_OK;
}

static tw_status parse_small(tw_text *text, int8_t *out)
{
    tw_text before = *text;
    uint64_t bits;
    TW_TRY(tw_text_u64(text, &bits));
    int64_t value = (int64_t)bits;
    if (value < INT8_MIN || value > INT8_MAX) return tw_text_fail(&before, "a distance has at most eight bits");
    *out = (int8_t)value;
    return TW_OK;
}

/* Towards later iterations: (0, 1) or more, or 1 or more in the outer counter. */
static tw_status parse_distance(const tw_model *model, tw_text *text, tw_facts *out)
{
    uint32_t loop;
    tw_distance d;
    TW_TRY(parse_ref(text, 'n', model->loop_count, &loop));
    if (model->loops[loop].parent == TW_NONE) return tw_text_fail(text, "there is no loop around n%u", loop);
    if (out->distance_count && out->pair != loop) return tw_text_fail(text, "distances are of one pair of loops");
    if (out->distance_count == TW_FACTS_DISTANCES) return tw_text_fail(text, "there are more than %d distances", TW_FACTS_DISTANCES);
    TW_TRY(parse_small(text, &d.outer));
    TW_TRY(parse_small(text, &d.inner));
    if (d.outer < 0 || (d.outer == 0 && d.inner <= 0)) return tw_text_fail(text, "a distance leads to a later iteration");
    out->pair = (uint8_t)loop;
    out->distance[out->distance_count++] = d;
    return TW_OK;
}

static tw_status parse_fact(const tw_model *model, tw_text *text, tw_facts *out)
{
    TW_TRY(tw_text_expect(text, "fact"));
    if (tw_text_word(text, "parallel")) return parse_flag(model, text, out->parallel);
    if (tw_text_word(text, "dead")) return parse_flag(model, text, out->dead);
    if (tw_text_word(text, "varying")) return parse_flag(model, text, out->varying);
    if (tw_text_word(text, "free")) return parse_free(model, text, out);
    if (tw_text_word(text, "distance")) return parse_distance(model, text, out);
    if (tw_text_word(text, "stride")) return parse_stride(model, text, out);
    if (tw_text_word(text, "group")) return parse_group(model, text, out);
    if (tw_text_word(text, "canonical-nan")) return out->canonical_nan = true, TW_OK;
    if (tw_text_word(text, "checked")) return out->checked = true, TW_OK;
    TW_TRY(tw_text_expect(text, "trips"));
    uint32_t loop;
    TW_TRY(parse_ref(text, 'n', model->loop_count, &loop));
    return tw_text_u64(text, &out->trips[loop]);
}

tw_status tw_facts_parse(const tw_model *model, const char *text, size_t size, tw_facts *out, tw_error *error)
{
    tw_text t = {text, text, text + size, error};
    *out = (tw_facts){0};
    while (t.at < t.end) {
        TW_TRY(parse_fact(model, &t, out));
        TW_TRY(tw_text_line_end(&t));
    }
    return TW_OK;
}
