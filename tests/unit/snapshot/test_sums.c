/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 and BLAKE3 against published values; in pieces as at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/snapshots.h"
#include "blake3/blake3.h"
#include "snapshot/crc32.h"

static void crc32_is_that_of_zlib(void **state)
{
    (void)state;
    assert_int_equal(tw_snap_crc32(0, NULL, 0), 0);
    assert_int_equal(tw_snap_crc32(0, (const uint8_t *)"123456789", 9), 0xCBF43926);
    assert_int_equal(tw_snap_crc32(0, (const uint8_t *)"wasmgpurg", 9), 0xDBA88250);
}

static void crc32_of_pieces_is_that_of_the_whole(void **state)
{
    (void)state;
    uint8_t bytes[67];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 31);
    uint32_t whole = tw_snap_crc32(0, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut++)
        assert_int_equal(tw_snap_crc32(tw_snap_crc32(0, bytes, cut), bytes + cut, sizeof bytes - cut), whole);
}

/* The vectors of BLAKE3's own repository: the input is i % 251. */
static void blake3_gives_the_published_vectors(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        const char *hash;
    } vectors[] = {{0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"},
                   {1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"},
                   {1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"},
                   {102400, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085"}};
    uint8_t *bytes = malloc(102400), hash[32], wanted[32];
    for (size_t i = 0; i < 102400; i++) bytes[i] = (uint8_t)(i % 251);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        test_hex(vectors[i].hash, wanted, 32);
        for (size_t piece = 1; piece <= 102400; piece = piece * 7 + 3) {
            tw_blake3 hasher;
            tw_blake3_start(&hasher);
            for (size_t at = 0; at < vectors[i].size; at += piece)
                tw_blake3_add(&hasher, bytes + at, vectors[i].size - at < piece ? vectors[i].size - at : piece);
            tw_blake3_end(&hasher, hash);
            assert_memory_equal(hash, wanted, 32);
        }
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32_is_that_of_zlib),
        cmocka_unit_test(crc32_of_pieces_is_that_of_the_whole),
        cmocka_unit_test(blake3_gives_the_published_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
