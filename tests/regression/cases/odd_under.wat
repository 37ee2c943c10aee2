;; SPDX-License-Identifier: Apache-2.0
;; The odd copy behind an unrolled loop became one more trip of it, under its own condition only: all of it stands under
;; another one that the outer counters decide (every third j), which was lost when that `if` was lowered.
;; kernels 2
;; call fill 65536
;; call odd 20000 30000 31000 40000 15 7 8 3 24 0
;; call odd 20000 30000 31000 40000 13 7 8 3 24 0
;; call odd 20000 30000 31000 40000 14 7 8 3 24 0
(module
  (memory (export "memory") 1)
  (func (export "fill") (param $end i32) (local $at i32)
    (loop $next
      (i32.store (local.get $at) (i32.add (i32.mul (local.get $at) (i32.const 77)) (i32.const 1)))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $end)))))
  (func (export "odd") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 f64)
    (local i32 i32 i32 i32 i64 i32 i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32 i64 i32 i32 i32 i32 i32 i32)
    block  ;; label = @1
      local.get 4
      i32.const 1
      i32.shl
      local.tee 10
      i32.const 3
      i32.lt_u
      br_if 0 (;@1;)
      local.get 3
      local.get 6
      i32.const 3
      i32.shl
      i32.add
      local.set 11
      local.get 3
      i32.const 264
      i32.add
      local.set 12
      local.get 1
      i32.const -4
      i32.add
      local.set 13
      local.get 6
      i64.extend_i32_u
      local.set 14
      i32.const 0
      local.set 15
      i32.const 3
      local.set 16
      local.get 2
      local.set 17
      i32.const 2
      local.set 18
      loop  ;; label = @2
        local.get 3
        local.get 18
        i32.const 7
        i32.shl
        i32.add
        local.set 19
        local.get 11
        local.get 18
        i32.const 3
        i32.shl
        local.tee 6
        i32.add
        local.set 20
        local.get 0
        local.get 6
        i32.add
        local.set 21
        local.get 15
        i32.const 1
        i32.shl
        i32.const 3
        i32.add
        local.set 22
        local.get 18
        i64.extend_i32_s
        local.set 23
        local.get 16
        local.set 24
        local.get 17
        local.set 25
        i32.const 0
        local.set 26
        loop  ;; label = @3
          local.get 23
          i64.const 1
          i64.add
          local.set 27
          block  ;; label = @4
            local.get 23
            i32.wrap_i64
            local.tee 28
            i32.const 3
            i32.rem_s
            i32.const 1
            i32.ne
            br_if 0 (;@4;)
            block  ;; label = @5
              local.get 27
              i64.eqz
              br_if 0 (;@5;)
              local.get 22
              local.get 26
              i32.add
              local.tee 6
              i32.const 1
              local.get 6
              i32.const 1
              i32.gt_u
              select
              i32.const 1
              i32.and
              local.set 29
              local.get 13
              local.get 28
              i32.const 2
              i32.shl
              local.tee 30
              i32.add
              local.set 31
              i32.const 0
              local.set 1
              block  ;; label = @6
                local.get 6
                i32.const 2
                i32.lt_u
                br_if 0 (;@6;)
                local.get 24
                i32.const 1
                local.get 24
                i32.const 1
                i32.gt_u
                select
                i32.const -2
                i32.and
                local.set 32
                i32.const 0
                local.set 1
                local.get 12
                local.set 6
                local.get 25
                local.set 4
                loop  ;; label = @7
                  local.get 6
                  i32.const -8
                  i32.add
                  local.tee 33
                  local.get 20
                  i64.load
                  local.get 4
                  i32.const 8
                  i32.add
                  i64.load32_s
                  i64.mul
                  local.get 23
                  i64.add
                  local.get 31
                  i64.load32_s
                  i64.add
                  local.get 33
                  i64.load
                  i64.mul
                  i64.store
                  local.get 6
                  local.get 20
                  i64.load
                  local.get 4
                  i32.const 72
                  i32.add
                  i64.load32_s
                  i64.mul
                  local.get 23
                  i64.add
                  local.get 31
                  i64.load32_s
                  i64.add
                  local.get 6
                  i64.load
                  i64.mul
                  i64.store
                  local.get 6
                  i32.const 16
                  i32.add
                  local.set 6
                  local.get 4
                  i32.const 128
                  i32.add
                  local.set 4
                  local.get 32
                  local.get 1
                  i32.const 2
                  i32.add
                  local.tee 1
                  i32.ne
                  br_if 0 (;@7;)
                end
              end
              local.get 29
              i32.eqz
              br_if 0 (;@5;)
              local.get 19
              local.get 1
              i32.const 3
              i32.shl
              i32.add
              local.tee 6
              local.get 20
              i64.load
              local.get 2
              local.get 30
              i32.add
              local.get 1
              i32.const 6
              i32.shl
              i32.add
              i64.load32_s
              i64.mul
              local.get 23
              i64.add
              local.get 31
              i64.load32_s
              i64.add
              local.get 6
              i64.load
              i64.mul
              i64.store
            end
            local.get 21
            local.get 28
            i32.const 3
            i32.shl
            i32.add
            local.tee 6
            local.get 6
            i64.load
            local.get 14
            i64.add
            i64.store
          end
          local.get 24
          i32.const 1
          i32.add
          local.set 24
          local.get 25
          i32.const 4
          i32.add
          local.set 25
          local.get 26
          i32.const 1
          i32.add
          local.set 26
          local.get 23
          i64.const 16
          i64.lt_s
          local.set 6
          local.get 27
          local.set 23
          local.get 6
          br_if 0 (;@3;)
        end
        local.get 16
        i32.const 2
        i32.add
        local.set 16
        local.get 12
        i32.const 256
        i32.add
        local.set 12
        local.get 17
        i32.const 8
        i32.add
        local.set 17
        local.get 15
        i32.const 1
        i32.add
        local.set 15
        local.get 18
        i32.const 2
        i32.add
        local.tee 18
        local.get 10
        i32.lt_u
        br_if 0 (;@2;)
      end
    end))
