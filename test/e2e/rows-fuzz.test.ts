import { Agent, request } from "node:http"
import * as fc from "fast-check"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, replyOf, sql, talk } from "../support/client.ts"
import { type Service } from "../support/service.ts"
import { clientOf, resetVessels, startVessels } from "../support/vessels.ts"

let service: Service
const agent = new Agent({ keepAlive: true, maxSockets: 4 })

beforeAll(async () => {
  service = await startVessels({
    SVC_DB_TIMEOUT: "2s",
    SVC_DB_AGGREGATES: "true",
    SVC_DB_PLAN_ENABLED: "true",
    SVC_DB_TX_END: "rollback-allow-override"
  })
  await resetVessels(service)
  await sql(
    service,
    "create table texts (id int generated always as identity primary key, t text, tags text[], doc jsonb)"
  )
})
afterAll(async () => {
  agent.destroy()
  await service[Symbol.asyncDispose]()
})

interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
}

const send = ({ method, path, headers, body }: Asked) =>
  new Promise<{ status: number; text: string }>((done, failed) => {
    const { hostname, port } = new URL(service.url)
    const length = body === undefined ? {} : { "content-length": body.length }
    const sent = request(
      { agent, hostname, port, method, path, headers: { apikey: service.service_role, ...length, ...headers } },
      (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (more: string) => (text += more))
        response.once("end", () => done({ status: response.statusCode ?? 0, text }))
      }
    )
    sent.setTimeout(20_000, () => sent.destroy(new Error("no answer for 20 s")))
    sent.once("error", failed)
    sent.end(body)
  })

/** An answer, or a refusal that blames the request, and not SQL of ours. */
const assertSane = ({ status, text }: { readonly status: number; readonly text: string }, asked: unknown) => {
  const about = `${JSON.stringify(asked)}\n${status} ${text.slice(0, 600)}`
  assert.isBelow(status, status === 504 && text.includes("57014") ? 505 : 500, about)
  assert.notMatch(text, /node_modules|\.ts:\d+|\bat [\w.]+ \(/, about)
  if (status < 300 || text === "") return
  const { code, error } = JSON.parse(text) as { readonly code: string; readonly error: string }
  assert.isString(code, about)
  // A text search may have its own syntax errors.
  if (!/tsquery|jsonpath/.test(error))
    assert.notInclude(["42601", "26000", "25P02", "42P02", "08P01", "42712"], code, about)
}

const oneOf = (texts: string) => fc.constantFrom(...texts.split(" "))
const joined = (...parts: ReadonlyArray<fc.Arbitrary<string>>) => fc.tuple(...parts).map((all) => all.join(""))
const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((all) => Buffer.from(all))
const anything = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(..."\"'\\(),.:;->%$ \0\n{}[]*=!&+#?ab1é😀\ud800"), maxLength: 12 })
)
const some = (arbitrary: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant("") }, { weight: 1, arbitrary })

const column = oneOf(
  "id name tonnage home active flag facts tags route note words at cargo rank first boss full_name nope"
)
const relation = oneOf(
  "ports ships papers sailors voyages postings active_ships registry home_port visitors consort nope ports!voyages_from ships!inner x:ports!left home:ports!home"
)
const field = joined(column, some(oneOf('->a ->>a ->0 ->deck->>length ->-1 ->>"x y" -> ->>99999999999999')))
const value = fc.oneof(
  oneOf('1 -1 x null true red (1,2) {1,2} {a,"b"} {} [1,5) "a,b" {"a":1} 2026-01-01 NaN 1e999 () "'),
  anything
)
const operator = joined(
  some(oneOf("not. not.not.")),
  oneOf(
    "eq neq gt gte lt lte like ilike match imatch in is isdistinct cs cd ov sl sr nxr nxl adj fts plfts phfts wfts eq(any) like(all) gt(any) fts(english) wfts(nope) nope"
  )
)
const condition = joined(operator, fc.constant("."), value)
const selected: fc.Arbitrary<string> = fc.letrec<{ item: string }>((tie) => ({
  item: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    field,
    oneOf("* count() name::text id.sum() x:id tonnage.avg()::int n:count() facts->deck::text id::nope first.max()"),
    joined(
      some(fc.constant("...")),
      relation,
      fc.constant("("),
      fc.array(tie("item"), { maxLength: 3 }).map((all) => all.join()),
      fc.constant(")")
    )
  )
})).item
const listOf = (items: fc.Arbitrary<string>) => fc.array(items, { minLength: 1, maxLength: 4 }).map((all) => all.join())
const tree: fc.Arbitrary<string> = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small" },
    joined(field, fc.constant("."), condition),
    joined(
      oneOf("and or not.and not.or"),
      fc.constant("("),
      fc.array(tie("tree"), { maxLength: 3 }).map((all) => all.join()),
      fc.constant(")")
    )
  )
})).tree
const term = joined(
  fc.oneof({ weight: 4, arbitrary: field }, { weight: 1, arbitrary: oneOf("ports(name) ships(id) home_port(name)") }),
  some(oneOf(".asc .desc .nullsfirst .desc.nullslast .down"))
)
const pair: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(field, condition) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("select"), listOf(selected)) },
  {
    weight: 2,
    arbitrary: fc.tuple(
      oneOf("or and not.or ships.or ports.and"),
      joined(fc.constant("("), listOf(tree), fc.constant(")"))
    )
  },
  { weight: 2, arbitrary: fc.tuple(oneOf("order ships.order ports.order"), listOf(term)) },
  { weight: 1, arbitrary: fc.tuple(joined(oneOf("ships ports papers x"), fc.constant("."), column), condition) },
  {
    weight: 1,
    arbitrary: fc.tuple(oneOf("limit offset ships.limit ships.offset"), oneOf("0 1 3 -1 99999999999999999999 x 1.5"))
  },
  { weight: 1, arbitrary: fc.tuple(oneOf("columns on_conflict"), oneOf('id name id,name nope "id" , ship,sailor')) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      oneOf("floor a b called numbers words thing ships papers"),
      fc.oneof(value, oneOf("is.null not.is.null eq.1"))
    )
  },
  { weight: 1, arbitrary: fc.tuple(anything, anything) }
)

const encode = (text: string) => encodeURIComponent(text.toWellFormed())
const query = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .array(pair, { maxLength: 4 })
      .map((all) => all.map(([key, of]) => `${encode(key)}=${encode(of)}`).join("&"))
  },
  // As bytes: whatever a client may put there, whole or not.
  {
    weight: 1,
    arbitrary: bytes(20).map((all) => [...all].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""))
  },
  { weight: 1, arbitrary: bytes(20).map((all) => all.toString("latin1").replaceAll(/[^\u0021-\u00ff]/g, "")) }
)
const target = fc.oneof(
  {
    weight: 9,
    arbitrary: oneOf("ships ports papers voyages sailors postings berths stays active_ships registry nope")
  },
  {
    weight: 4,
    arbitrary: oneOf(
      "add ships_over ship_named tallies names nothing echo total longest describe refuse nope launch scrap"
    ).map((name) => `rpc/${name}`)
  },
  { weight: 1, arbitrary: anything.map(encode).filter((name) => !/^\.{0,2}$/.test(name)) }
)

const header = fc.oneof(
  fc.tuple(
    fc.constant("prefer"),
    listOf(
      oneOf(
        "return=representation return=minimal return=headers-only count=exact count=planned count=estimated count=nope resolution=merge-duplicates resolution=ignore-duplicates missing=default missing=null handling=strict handling=lenient max-affected=0 max-affected=1 max-affected=x max-affected=99999999999999999999 tx=rollback timezone=Europe/Oslo timezone=Nope/Where timezone=05:30 timezone= params=single-object nope"
      )
    )
  ),
  fc.tuple(fc.constant("range"), oneOf("0-0 1-2 5-1 10- 99999999999999999999-  bytes=0-1 -5 x")),
  fc.tuple(
    fc.constant("accept"),
    fc.oneof(
      oneOf(
        "application/json text/csv application/vnd.pgrst.object+json application/vnd.pgrst.array+json;nulls=stripped application/vnd.pgrst.object+json;nulls=stripped application/vnd.pgrst.plan application/vnd.pgrst.plan+json application/vnd.pgrst.plan+text;options=analyze|verbose|wal application/geo+json */* text/* text/html,*/*;q=0.1 application/octet-stream text/plain x ;;,"
      ),
      fc.constant('application/vnd.pgrst.plan+json; for="text/csv"; options=buffers|nope')
    )
  ),
  fc.tuple(
    fc.constant("content-type"),
    oneOf(
      "application/json text/csv application/x-www-form-urlencoded text/plain application/octet-stream text/xml application/json;charset=latin1 nope"
    )
  ),
  fc.tuple(oneOf("accept-profile content-profile"), oneOf("public crew svc nope pg_catalog")),
  fc.tuple(
    oneOf("prefer range accept content-type accept-profile cookie x-any"),
    fc.string({ unit: fc.constantFrom(..."ab=,;\"'/*+-.\u00e9\t %\\:"), maxLength: 12 })
  )
)
const row = fc.dictionary(
  fc.oneof({ weight: 9, arbitrary: column }, { weight: 1, arbitrary: anything }),
  fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    value,
    fc.constantFrom<unknown>(1, null, true, ["a"], { a: 1 }, "red", "[1,2)")
  ),
  { maxKeys: 4 }
)
const body = fc.oneof(
  { weight: 4, arbitrary: row.map((json) => Buffer.from(JSON.stringify(json))) },
  { weight: 3, arbitrary: fc.array(row, { maxLength: 3 }).map((json) => Buffer.from(JSON.stringify(json))) },
  { weight: 1, arbitrary: fc.jsonValue().map((json) => Buffer.from(JSON.stringify(json))) },
  { weight: 1, arbitrary: bytes(30) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(listOf(column), fc.array(listOf(value), { maxLength: 3 }))
      .map(([head, lines]) => Buffer.from([head, ...lines].join("\n")))
  },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.tuple(column, value), { maxLength: 3 })
      .map((all) => Buffer.from(all.map(([key, of]) => `${key}=${encode(of)}`).join("&")))
  }
)
const asked: fc.Arbitrary<Asked> = fc.record({
  method: fc.oneof(
    { weight: 9, arbitrary: oneOf("GET GET GET HEAD POST POST PATCH PUT DELETE") },
    { weight: 1, arbitrary: oneOf("OPTIONS TRACE PURGE") }
  ),
  path: fc.tuple(target, query).map(([where, what]) => `/v1/db/${where}${what === "" ? "" : `?${what}`}`),
  headers: fc.array(header, { maxLength: 3 }).map((all) => Object.fromEntries(all)),
  body: fc.option(body, { nil: undefined, freq: 2 })
})

const within = async <A>(arbitrary: fc.Arbitrary<A>, millis: number, check: (value: A) => Promise<void>) => {
  const until = Date.now() + millis
  let runs = 0
  await fc.assert(
    fc.asyncProperty(arbitrary, async (value) => {
      runs += 1
      if (runs <= 100 || Date.now() < until) await check(value)
    }),
    { numRuns: 20_000 }
  )
}

describe("whatever is asked", () => {
  it("the answer is rows or a refusal, never a failure of ours", { timeout: 120_000 }, async () => {
    await within(asked, 8_000, async (one) => {
      // A body is not for every method.
      const { body, method } = one
      assertSane(await send({ ...one, body: method === "GET" || method === "HEAD" ? undefined : body }), {
        ...one,
        body: body?.toString()
      })
    })
    assert.strictEqual(
      (await ask(service, "GET /v1/db/ships?select=count()", { key: service.service_role })).text,
      '[{"count":5}]'
    )
  })

  it("bytes that are no request at all are refused", { timeout: 120_000 }, async () => {
    const head = `apikey: ${service.service_role}\r\nhost: x\r\nconnection: close\r\n`
    const line = fc.oneof(
      bytes(40).map((all) =>
        Buffer.concat([Buffer.from("GET /v1/db/ships?"), all, Buffer.from(` HTTP/1.1\r\n${head}\r\n`)])
      ),
      bytes(20).map((all) =>
        Buffer.concat([Buffer.from(`GET /v1/db/ships HTTP/1.1\r\n${head}prefer: `), all, Buffer.from("\r\n\r\n")])
      ),
      bytes(30).map((all) =>
        Buffer.concat([Buffer.from(`POST /v1/db/ships HTTP/1.1\r\n${head}content-length: ${all.length}\r\n\r\n`), all])
      )
    )
    await within(line, 3_000, async (all) => {
      const reply = replyOf(await talk(service, all))
      assertSane(
        { status: reply.status, text: reply.status < 300 ? "" : reply.text.slice(0, reply.text.lastIndexOf("}") + 1) },
        all.toString("latin1")
      )
    })
  })

  it("a client's values come back as they went", { timeout: 120_000 }, async () => {
    const db = clientOf(service, { Prefer: "tx=commit" })
    const text = anything.map((any) => any.replaceAll("\0", "").toWellFormed())
    await within(text, 4_000, async (value) => {
      const row = { t: value, tags: [value, ""], doc: { [value]: [value, null] } }
      const made = await db.from("texts").insert(row).select("id, t, tags, doc").single()
      assert.isNull(made.error, JSON.stringify(made.error))
      const { id, ...rest } = made.data as unknown as { readonly id: number }
      assert.deepStrictEqual(rest as unknown, row)
      const texts = () => db.from("texts").select("id")
      const quoted = `"${value.replaceAll(/["\\]/g, "\\$&")}"`
      for (const found of [
        texts().eq("t", value),
        texts().match({ t: value, id }),
        texts().contains("doc", row.doc),
        texts().contains("tags", [quoted]),
        texts().or(`t.eq.${quoted},id.eq.0`),
        texts().not("t", "neq", value),
        texts().filter("t", "in", `(${quoted})`),
        texts().eq(`doc->${quoted}->>0`, value),
        db.from("texts").delete().eq("t", value).select("id")
      ]) {
        const { data, error } = await found
        assert.deepStrictEqual({ data: data as unknown, error }, { data: [{ id }], error: null }, JSON.stringify(value))
      }
    })
  })
})
