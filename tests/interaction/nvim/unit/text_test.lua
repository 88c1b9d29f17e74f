local text = require("loopline.text")

test("escape sequences, controls and direction marks are taken out, the rest stays", function()
  eq(text.clean("a\27[31mred\27[0m b"), "ared b")
  eq(text.clean("\27]8;;http://x\7link\27]8;;\7"), "link")
  eq(text.clean("\27]52;c;aGk=\27\\after"), "after")
  eq(text.clean("bell\7 back\8 nul\0 del\127 tab\t line\nend"), "bell back nul del tab\t line\nend")
  eq(text.clean("c1\194\155 stays é 😀 – “”"), "c1 stays é 😀 – “”")
  eq(text.clean("rtl\226\128\174 iso\226\129\166 bom\239\187\191 ls\226\128\168"), "rtl iso bom ls")
  for _, mark in ipairs({ "\216\156", "\226\128\139", "\226\129\160", "\194\173", "\225\160\142", "\243\160\129\129" }) do
    eq(text.clean("a" .. mark .. "b"), "ab")
    assert(not text.visible("a" .. mark .. "b"):find(mark, 1, true))
  end
  eq(text.clean("a\r\nb\rc"), "a\nbc")
  eq(text.clean("<script>alert(1)</script> ![x](http://y)"), "<script>alert(1)</script> ![x](http://y)")
end)

test("what is asked for hides nothing", function()
  eq(text.visible("rm x\27[2K\rls"), "rm x\\x1b[2K\\x0dls")
  eq(text.visible("a\226\128\174b\226\128\139c"), "a\\xe2\\x80\\xaeb\\xe2\\x80\\x8bc")
  eq(text.visible("two\nlines\tand"), "two\nlines\\x09and")
end)

test("lines and one line", function()
  eq(text.lines("a\r\nb\n"), { "a", "b", "" })
  eq(text.one_line("  a \n\t b  "), "a b")
  eq(text.one_line(("é"):rep(10), 4), "ééé…")
  eq(text.one_line(""), "")
end)

test("nothing is expanded in a status line", function()
  eq(text.for_statusline("%{luaeval('os.exit()')} 94 %"), "%%{luaeval('os.exit()')} 94 %%")
end)

test("unknown is a dash", function()
  for _, shown in ipairs({ text.number(), text.duration(), text.percent(), text.rate(), text.cached(), text.reuse() }) do
    eq(shown, "–")
  end
end)

test("marks of reuse", function()
  eq(text.reuse_mark("reused"), "⟲")
  eq(text.reuse_mark("full_resend"), "↑")
  eq(text.reuse_mark("reconnected"), "↯")
  eq(text.reuse_mark("first"), "")
  eq(text.reuse_mark(nil), "")
  eq(text.reuse("of_a_newer_version"), "of_a_newer_version")
end)

test("counted", function()
  eq(
    { text.counted(1, "file"), text.counted(2, "file"), text.counted(1234, "line") },
    { "1 file", "2 files", "1,234 lines" }
  )
end)
