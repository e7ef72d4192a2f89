import { type SqlState } from "../../../src/domain/codes/ErrorCode.ts"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { type CallBody } from "../../../src/domain/rows/functions/Call.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { type As, get as read, rawRpc, refusal, rpc } from "../../support/requests.ts"

const f = (name: string, rest: string, body: string, language = "sql") =>
  `create function ${name} ${rest} language ${language} as $body$ ${body} $body$;`

const json = (value: unknown): CallBody => ({ _tag: "Json", json: Buffer.from(JSON.stringify(value)) })
const ask = (line: string, as: As = {}) => rawRpc(line, undefined, { method: "GET", ...as })
const get = (line: string, as?: As) => Effect.map(ask(line, as), ({ body }) => body)
const post = (line: string, value: unknown = {}, as?: As) => rawRpc(line, json(value), as)

const suite = layer(
  layerDatabase({
    name: "function_answers",
    before: `
      create table authors (id int primary key, name text, born date);
      create table books (id int primary key, title text, tags text[]);
      insert into authors values (1, 'Ann', '1970-01-01'), (2, 'Bob', null), (3, 'Cy', '1990-05-05');
      insert into books values (1, 'A', '{x,y}'), (2, 'B', '{}'), (3, 'C', '{y}');
      create type pair as (x int, y text);
      create table ledger (id int generated always as identity, amount int);
      ${[
        f("all_books", "() returns setof books stable", "select * from books order by id"),
        f("all_authors", "() returns setof authors stable", "select * from authors order by id"),
        f("one_book", "(wanted int) returns books stable", "select * from books where id = wanted"),
        f("numbers", "(n int) returns setof int immutable", "select generate_series(1, n)"),
        f("documents", "() returns setof jsonb immutable", `values ('{"a": 1}'::jsonb), ('{"a": null}')`),
        f("scalar", "() returns int immutable", "select 7"),
        f("scalar_text", "() returns text immutable", `select 'a,"b"'`),
        f("a_pair", "() returns pair", "select 1, null::text"),
        f("nothing", "() returns void", "select"),
        f(
          "pay",
          "(amounts int[]) returns setof ledger",
          "insert into ledger (amount) select unnest(amounts) returning *"
        ),
        f("pay_one", "(amount int) returns ledger", "insert into ledger (amount) values (amount) returning *"),
        f("calls", "() returns setof int", "insert into ledger (amount) values (0) returning id"),
        f(
          "teapot",
          "() returns int",
          `begin perform set_config('response.status', '418', true), set_config('response.headers', '[{"X-Tea": "green"}]', true); return 1; end`,
          "plpgsql"
        ),
        f(
          "badly",
          "(setting text, value text) returns void",
          "begin perform set_config(setting, value, true); end",
          "plpgsql"
        ),
        f(
          "raises",
          "(message text, detail text default null) returns void",
          "begin if detail is null then raise sqlstate 'PGRST' using message = message; end if; raise sqlstate 'PGRST' using message = message, detail = detail; end",
          "plpgsql"
        ),
        f("context", "() returns text", "select current_setting('request.method') || current_setting('request.path')"),
        f("now_there", "() returns timestamptz", "select '2020-06-01T00:00:00Z'::timestamptz")
      ].join("\n")}`
  }),
  live
)

suite("answers of functions", (it) => {
  describe("in other media types", () => {
    it.effect.each([
      ["all_books?id=eq.1&select=id", { media: "object" }, '{"id":1}'],
      ["one_book?wanted=1&select=id", { media: "object" }, '{"id":1}'],
      ["one_book?wanted=9&select=id", { media: "object" }, "null"],
      ["scalar", { media: "object" }, "7"],
      ["numbers?n=1", { media: "object" }, '{"pgrst_scalar":1}'],
      ["all_authors?select=id,born&id=lt.3", { stripNulls: true }, '[{"id":1,"born":"1970-01-01"},{"id":2}]'],
      ["all_authors?id=eq.2&select=id,born", { media: "object", stripNulls: true }, '{"id":2}'],
      ["documents", { stripNulls: true }, '[{"a":1},{}]'],
      ["a_pair", { stripNulls: true }, '{"x":1}'],
      ["all_authors?select=id,name,born&id=lt.3", { media: "csv" }, "id,name,born\n1,Ann,1970-01-01\n2,Bob,"],
      ["one_book?wanted=2&select=id,title,tags", { media: "csv" }, "id,title,tags\n2,B,{}"],
      ["scalar_text", { media: "csv" }, 'pgrst_scalar\n"a,""b"""'],
      ["numbers?n=2", { media: "csv" }, "pgrst_scalar\n1\n2"],
      ["numbers?n=0", { media: "csv" }, "pgrst_scalar\n"],
      ["all_authors?select=*&id=lt.0", { media: "csv" }, "id,name,born\n"]
    ] as const)("%s %j", ([line, form, expected]) =>
      Effect.map(get(line, { form }), (body) => assert.strictEqual(body?.replaceAll(/ \n|, (?=\{)/g, ","), expected))
    )

    it.effect("reject a single object for any other number of rows", () =>
      Effect.gen(function* () {
        const object = { form: { media: "object" } } as const
        const error = yield* Effect.flip(ask("all_books", object))
        assert.deepInclude(error, {
          status: 406,
          code: "PGRST116",
          error: "Cannot coerce the result to a single JSON object",
          details: "The result contains 3 rows"
        })
        assert.strictEqual(yield* refusal(ask("all_books?id=eq.9", object)), "406 PGRST116")
        assert.strictEqual(yield* refusal(ask("all_books", { ...object, method: "HEAD" })), "406 PGRST116")
      })
    )

    it.effect("are a plan, without a call", () =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        yield* sql("delete from ledger")
        const { body } = yield* post("calls", {}, { form: { media: "plan-json" } })
        assert.property((JSON.parse(body ?? "") as ReadonlyArray<object>)[0], "Plan")
        assert.deepStrictEqual(yield* read("ledger"), [])
      })
    )
  })

  describe("that a preference rejects", () => {
    it.effect("roll back the function's writes", () =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        yield* sql("delete from ledger")
        const strict = { prefer: { handling: "strict", maxAffected: 1 } } as const
        const error = yield* Effect.flip(post("pay", { amounts: [1, 2] }, strict))
        assert.deepInclude(error, {
          status: 400,
          code: "PGRST124",
          error: "Query result exceeds max-affected preference constraint",
          details: "The query affects 2 rows"
        })
        assert.strictEqual(
          yield* refusal(post("pay", { amounts: [1, 2] }, { form: { media: "object" } })),
          "406 PGRST116"
        )
        assert.strictEqual(yield* refusal(post("pay?select=nothing", { amounts: [1] })), "400 42703")
        assert.deepStrictEqual(yield* read("ledger"), [])
        assert.strictEqual((yield* post("pay?select=amount", { amounts: [3] }, strict)).body, '[{"amount":3}]')
        assert.strictEqual((yield* post("pay", { amounts: [3, 4] }, { prefer: { maxAffected: 1 } })).count, 2)
      })
    )

    it.effect("reject max-affected for a function without SETOF", () =>
      Effect.gen(function* () {
        const strict = { prefer: { handling: "strict", maxAffected: 1 } } as const
        const error = yield* Effect.flip(post("pay_one", { amount: 1 }, strict))
        assert.deepInclude(error, {
          status: 400,
          code: "PGRST128",
          error: "Function must return SETOF or TABLE when max-affected preference is used with handling=strict"
        })
        assert.strictEqual(yield* refusal(post("nothing", {}, strict)), "400 PGRST128")
        assert.strictEqual(yield* refusal(ask("scalar", strict)), "400 PGRST128")
      })
    )

    it.effect("roll back with tx=rollback", () =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        yield* sql("delete from ledger")
        const { body } = yield* post("pay?select=amount", { amounts: [9] }, { prefer: { tx: "rollback" } })
        assert.strictEqual(body, '[{"amount":9}]')
        assert.deepStrictEqual(yield* read("ledger"), [])
      })
    )
  })

  describe("and response settings", () => {
    it.effect("set status and headers", () =>
      Effect.gen(function* () {
        const { status, headers, body } = yield* post("teapot")
        assert.deepStrictEqual([status, headers, body], [418, [["x-tea", "green"]], "1"])
        const failureOf = (setting: string, value: string) => refusal(post("badly", { setting, value }))
        assert.strictEqual(yield* failureOf("response.status", "oops"), "500 PGRST112")
        assert.strictEqual(yield* failureOf("response.headers", "{}"), "500 PGRST111")
        assert.strictEqual((yield* post("nothing")).status, undefined)
      })
    )

    it.effect("can depend on the request", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* get("context"), '"GET/context"')
        const there = { prefer: { timezone: "Europe/Berlin" } } as const
        assert.strictEqual(yield* get("now_there", there), '"2020-06-01T02:00:00+02:00"')
        assert.strictEqual(yield* refusal(ask("now_there", { prefer: { timezone: "Nowhere" } })), "400 22023")
      })
    )

    it.effect("can be raised as PGRST", () =>
      Effect.gen(function* () {
        const raise = (message: unknown, detail?: unknown) =>
          Effect.flip(
            rpc("raises", {
              message: typeof message === "string" ? message : JSON.stringify(message),
              ...(detail !== undefined && { detail: typeof detail === "string" ? detail : JSON.stringify(detail) })
            })
          )
        const message = { code: "123", message: "no", details: "because", hint: "give up" }
        assert.deepInclude(
          yield* raise(message, { status: 402, status_text: "Pay Up", headers: { "X-Price": "1 €", Connection: "x" } }),
          {
            status: 402,
            status_text: "Pay Up",
            headers: [["x-price", "1 €"]],
            code: message.code as SqlState,
            error: "no",
            details: "because",
            hint: "give up"
          }
        )
        assert.deepInclude(yield* raise({ code: "1", message: "" }, { status: 301, headers: { Location: "/x" } }), {
          status: 301,
          headers: [["location", "/x"]],
          details: null,
          hint: null
        })
        assert.deepInclude(yield* raise("{]", { status: 402, headers: {} }), {
          status: 500,
          code: "PGRST121",
          error: `Could not parse JSON in the "RAISE SQLSTATE 'PGRST'" error`,
          details: "Invalid JSON value for MESSAGE: '{]'",
          hint: "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and optional keys: 'details', 'hint'."
        })
        assert.deepInclude(yield* raise(message), {
          status: 500,
          code: "PGRST121",
          details: "DETAIL is missing in the RAISE statement",
          hint: "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and optional key: 'status_text'."
        })
        for (const detail of [
          "x",
          "[]",
          { status: 402 },
          { status: "402", headers: {} },
          { status: 99, headers: {} },
          { status: 402, headers: { a: 1 } },
          { status: 402, headers: { "a b": "x" } },
          { status: 402, headers: { a: "x\r\nb: y" } },
          { status: 402, headers: {}, status_text: 1 }
        ]) {
          assert.deepInclude(yield* raise(message, detail), {
            status: 500,
            code: "PGRST121",
            details: `Invalid JSON value for DETAIL: '${typeof detail === "string" ? detail : JSON.stringify(detail)}'`
          })
        }
      })
    )
  })
})
