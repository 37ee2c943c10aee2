The README's commands about snapshots work as they are pasted.

  $ sed -n '/^## Keep a guest/,/^## See/s/^    //p' $DATA/../../README.md > pasted.sh; wc -l < pasted.sh
  13
  $ sh pasted.sh
  40
  42
  a.snap, b.snap: they differ
    globals: global 0: 40 -> 42
  43
  signed.snap: archive, from a.snap, archive
  signed.snap: verified: archive, signed with HMAC-SHA256
