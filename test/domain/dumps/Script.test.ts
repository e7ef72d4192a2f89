import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { DumpScript, maxStatement } from "../../../src/domain/dumps/Script.ts"
import { statementsIn } from "../../../src/domain/sql/Statements.ts"

interface Read {
  /** Statements, and `rows: …` with the rows after each COPY. */
  readonly pieces: ReadonlyArray<string>
  readonly owners: ReadonlyArray<boolean>
  readonly problem: string | undefined
}

/** Reads a script in these chunks; rows follow every COPY. */
const readPieces = (chunks: Iterable<Buffer>, script = new DumpScript()): Read => {
  const pieces: Array<string> = []
  const owners: Array<boolean> = []
  let rows: Array<Buffer> = []
  for (const chunk of chunks) {
    for (const piece of script.read(chunk)) {
      if (piece.kind === "problem") return { pieces, owners, problem: piece.problem }
      if (piece.kind === "rows") rows.push(piece.bytes)
      else if (piece.kind === "rows end") {
        pieces.push(`rows: ${Buffer.concat(rows).toString("latin1")}`)
        rows = []
      } else {
        assert.strictEqual(
          piece.size,
          piece.parts.reduce((sum, { length }) => sum + length, 0)
        )
        pieces.push(Buffer.concat(piece.parts).toString("latin1"))
        owners.push(piece.owner)
        if (piece.head[0] === "COPY") script.startRows()
      }
    }
  }
  return { pieces, owners, problem: script.end() }
}

const read = (text: string) => readPieces([Buffer.from(text, "latin1")])

const cut = (text: string, places: ReadonlyArray<number>) => {
  const bytes = Buffer.from(text, "latin1")
  const at = [0, ...places.map((n) => n % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end))
}

/** Valid and invalid parts of scripts. */
const fragment = fc.constantFrom(
  ..."select ;|;|'|''|'a;b'|\"|\"a\"\"b;\"|E'\\''|E'a\\\\'|e'|\\|\\'|'x\\'|$|$$|$a$|$a|$1|$ab$;$a$|--|-- ';\n|/*|*/|/|*|-|\n|\r\n| |(|)|".split(
    "|"
  ),
  "create function f() returns int begin atomic ",
  "create or replace procedure begin() ",
  "begin ",
  "atomic ",
  "case ",
  "end ",
  "BEGIN/**/ATOMIC",
  "copy t from stdin;\n",
  "copy t from stdin; \r\n1\t\\N\n\\.\n",
  "\\.\n",
  "\\.\r\n",
  "\\.x\n",
  "\\N\n",
  "\\restrict abc\n",
  "\\unrestrict abc\n",
  "\\! ls\n",
  "alter table a owner to ",
  "a$b",
  "u&'x'",
  "é"
)
const script = fc.array(fragment, { maxLength: 30 }).map((parts) => parts.join(""))

describe("DumpScript", { timeout: 30_000 }, () => {
  it("reads the same from any chunks", () => {
    fc.assert(
      fc.property(script, fc.array(fc.nat(300), { maxLength: 12 }), (text, places) => {
        const whole = read(text)
        const pieces = readPieces(cut(text, places))
        assert.deepStrictEqual(pieces, whole)
        assert.deepStrictEqual(
          readPieces(Array.from(Buffer.from(text, "latin1"), (byte) => Buffer.from([byte]))),
          whole
        )
      }),
      { numRuns: 1_000 }
    )
  })

  it("finds the same statements as sql/Statements.ts", () => {
    const common = fc.constantFrom(
      ..."select |;|'a;b'|''|'|\"a\"\"b;\"|\"|E'\\';'|E'a\\\\'|$$;'$$|$a$;$$;$a$|$1 |$ |-- ';\n|--|/* ; /* ' */ ; */|/*|*/|/|*|-|\n| |(|)|a$b|u&'x'|create function f() begin atomic select 1; case when 1 then 2 end; end;".split(
        "|"
      )
    )
    fc.assert(
      fc.property(fc.array(common, { maxLength: 25 }), (parts) => {
        const text = parts.join("")
        const { pieces, problem } = read(text)
        // An unclosed quote or comment is a problem here, but the last statement there.
        fc.pre(problem === undefined)
        assert.deepStrictEqual(
          pieces.map((piece) => piece.trimEnd()),
          statementsIn(text).map((piece) => piece.text)
        )
      }),
      { numRuns: 1_000 }
    )
  })

  it("returns the rows of COPY unchanged", () => {
    const value = fc.constantFrom(
      "a",
      "\\N",
      "\\\\.",
      "\\\\restrict x",
      "\t",
      "\\.x",
      ";",
      "'",
      "$$",
      "\r",
      "\\",
      "\\n",
      ""
    )
    const rows = fc.array(fc.array(value, { maxLength: 4 }).map((values) => `${values.join("\t")}\n`))
    fc.assert(
      fc.property(rows, fc.boolean(), fc.array(fc.nat(300), { maxLength: 12 }), (lines, crlf, places) => {
        const data = lines.filter((line) => !/^\\\.\r?\n/.test(line)).join("")
        const text = `copy t (a) from stdin;\n${data}\\.${crlf ? "\r" : ""}\nselect 1;\n`
        const expected = ["copy t (a) from stdin", `rows: ${data}`, "select 1"]
        assert.deepStrictEqual(readPieces(cut(text, places)), {
          pieces: expected,
          owners: [false, false],
          problem: undefined
        })
      }),
      { numRuns: 1_000 }
    )
  })

  it("detects where statements end", () => {
    const text = `
      -- a comment; 'of
      /* another; /* in it */ ' */
      select ';', "a"";b", E'\\';', $$;$$, $x_1$ $$ ; $x$ $x_1$, (1;2);;
      select E'a' -- ;
        'b\\';';
      create function begin.atomic(begin atomic) returns begin language sql as $$;$$;
      create or replace procedure "create"() Begin /* ; */ Atomic
        select begin from t; select case when a then (case when b then 1 end) else "end" end; end;
      create rule r as on update to t do (select 1; select 2);
      select a$b$c, 1 - -1 / 2 * 3; select $1;
      end`
    const { pieces, problem } = read(text)
    assert.deepStrictEqual(
      pieces.map((piece) => piece.split("\n")[0]?.slice(0, 30)),
      [
        `select ';', "a"";b", E'\\';', $$`,
        "select E'a' -- ;",
        "create function begin.atomic(b",
        'create or replace procedure "c',
        "create rule r as on update to ",
        "select a$b$c, 1 - -1 / 2 * 3",
        "select $1"
      ].map((line) => line.slice(0, 30))
    )
    assert.strictEqual(problem, "The script ends within a statement")
  })

  it("treats backslashes as escapes in every string when the session does", () => {
    const text = "select '\\';'; select 1;"
    assert.strictEqual(read(text).problem, "The script ends within a statement")
    const script = new DumpScript()
    script.standardStrings = false
    assert.deepStrictEqual(readPieces([Buffer.from(text)], script).pieces, ["select '\\';'", "select 1"])
  })

  it("detects statements that only change an owner", () => {
    const owner = (text: string) => read(text).owners[0]
    for (const text of [
      "alter table a owner to b;",
      'ALTER FUNCTION a."x y"(int, "owner to") OWNER TO "b ""c";',
      "ALTER LARGE OBJECT 12 OWNER TO b;",
      "ALTER OPERATOR a.+ (integer, NONE) OWNER /* or */ TO\n b -- c\n;"
    ]) {
      assert.isTrue(owner(text), text)
    }
    for (const text of [
      'alter table a rename to "x owner to y";',
      "alter table a alter b set default ' owner to x';",
      "create table a (owner int);",
      "comment on table a is ' owner to b';",
      "alter table a owner to b, add c int;",
      "alter function f(owner to) x;"
    ]) {
      assert.isFalse(owner(text), text)
    }
  })

  it.each([
    ["\\! ls\n", "psql command"],
    ["select 1;\n\\! ls\nselect 2;", "psql command"],
    ["\\restrict ab\nselect 1;\n\\! ls\n\\unrestrict ab\n", "psql command"],
    ["\\restrict ab\nselect 1;\n\\unrestrict cd\n", "psql command"],
    ["\\restrict ab\n\\restrict ab\nselect 1;\n\\unrestrict ab\n", "psql command"],
    ["select 1;\n\\restrict ab\nselect 1;\n\\unrestrict ab\n", "psql command"],
    ["\\restrict a b\nselect 1;\n", "psql command"],
    ["\\unrestrict ab\nselect 1;\n", "psql command"],
    ["\\restrict ab\nselect 1;\n\\unrestrict ab\nselect 2;\n", "after its last line"],
    ["\\restrict ab\nselect 1;\n\\unrestrict ab\n\\! ls\n", "psql command"],
    ["\\restrict ab\nselect 1;\n", "before its last line"],
    [`\\restrict ${"a".repeat(2_000)}`, "unterminated"],
    ["select 1 \\gexec\n", "backslash"],
    ["select 1; \\! ls\n", "backslash"],
    ["select\n\\! ls\n;", "backslash"],
    ["select 'a\0b';", "NUL"],
    ["copy a from stdin; select 1;\n\\.\n", "between a COPY"],
    ["copy a from stdin;\n1\n", "within the rows of a table"],
    ["copy a from stdin;\n1\n\\.", "within the rows of a table"],
    ["copy a from stdin;", "within the rows of a table"],
    ["select 1", "within a statement"],
    ["select 1; select 'a;", "within a statement"],
    ["select 1; select $a$;", "within a statement"],
    ["select 1; /* ;", "within a statement"],
    ["select 1; -", "within a statement"],
    ["create function f() begin atomic select 1;", "within a statement"],
    [`select $${"a".repeat(20_000)}`, "tag"],
    ["", "no statements"],
    ["-- nothing\n;;\n", "no statements"]
  ])("rejects %j", (text, problem) => {
    assert.include(read(text).problem, problem)
  })

  it("accepts the two lines of pg_dump, and a comment at the end", () => {
    assert.deepStrictEqual(read("--\n\\restrict aB1\n\nselect 1;\n\n\\unrestrict aB1\n\n-- end").problem, undefined)
    assert.deepStrictEqual(read("\\restrict aB1\r\nselect 1;\r\n\\unrestrict aB1\r\n").problem, undefined)
  })

  it("limits the size of a statement", () => {
    const piece = Buffer.alloc(1024 * 1024, "a")
    const script = new DumpScript()
    const pieces = [Buffer.from("select '"), ...Array.from({ length: maxStatement / piece.length }, () => piece)]
    assert.include(readPieces(pieces, script).problem, "more than")
  })

  it("does not buffer rows", () => {
    const row = Buffer.alloc(1024 * 1024, "a")
    const script = new DumpScript()
    for (const _ of script.read(Buffer.from("copy a from stdin;"))) script.startRows()
    for (const _ of script.read(Buffer.from("\n"))) assert.fail()
    let size = 0
    for (let n = 0; n < 2 * (maxStatement / row.length); n++) {
      for (const piece of script.read(row)) size += piece.kind === "rows" ? piece.bytes.length : 0
    }
    assert.strictEqual(size, 2 * maxStatement)
  })
})
