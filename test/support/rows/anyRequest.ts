import * as fc from "fast-check"

/** A request on `/v1/db`, for the tables in relatedTables.ts. */
export interface RowRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
}

const oneOf = (texts: string) => fc.constantFrom(...texts.split(" "))
const joined = (...parts: ReadonlyArray<fc.Arbitrary<string> | string>) =>
  fc.tuple(...parts.map((part) => (typeof part === "string" ? fc.constant(part) : part))).map((all) => all.join(""))
export const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((all) => Buffer.from(all))
/** Texts that match no grammar. */
export const anything = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(..."\"'\\(),.:;->%$ \0\n{}[]*=!&+#?ab1é😀\ud800"), maxLength: 12 })
)
const some = (arbitrary: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant("") }, { weight: 1, arbitrary })
/** Mostly a valid value, rarely the other one. */
const mostly = <A>(good: fc.Arbitrary<A>, other: fc.Arbitrary<A>, weight = 12) =>
  fc.oneof({ weight, arbitrary: good, depthSize: "max" }, { weight: 1, arbitrary: other })
const listOf = (items: fc.Arbitrary<string>, maxLength = 4) =>
  fc.array(items, { minLength: 1, maxLength }).map((all) => all.join())

interface Table {
  readonly name: string
  readonly columns: string
  readonly conditions: string
  readonly embeds: string
}
const tables: ReadonlyArray<Table> = [
  {
    name: "ships",
    columns:
      "id name tonnage home consort active flag facts tags route note words facts->deck->>length tags->0 facts->>-1",
    conditions:
      "id=gt.1 id=in.(1,2) name=like.*a* name=eq.Aurora tonnage=gte.75.25 active=is.true flag=in.(red,blue) facts->>motto=eq.go facts=cs.{} tags=ov.{fast} route=ov.[1,3) words=fts.cat note=wfts(english).fat name=like(any).{A*,B*} home=not.is.null flag=isdistinct.red home_port=is.null ports=not.is.null",
    embeds:
      "ports papers sailors postings voyages active_ships home_port x:consort consort!inner stays ports!left registry"
  },
  {
    name: "ports",
    columns: "id name country opened codes codes->>0",
    conditions:
      "id=lt.4 name=ilike.*o* codes=cs.{OSL} opened=lt.1200-01-01 country=not.eq.NO ships=is.null country=is.null",
    embeds: "ships leaving:voyages!voyages_from voyages!target berths visitors active_ships ships!inner"
  },
  {
    name: "voyages",
    columns: "id ship origin target at cargo cargo->fish",
    conditions: "id=gte.1 at=gt.2026-01-15 cargo->>fish=eq.10 cargo=cd.{} ship=is.null",
    embeds: "ships origin from:ports!voyages_from target ports!voyages_to"
  },
  {
    name: "sailors",
    columns: "id first last boss full_name",
    conditions: "id=neq.2 first=imatch.^a full_name=eq.Bo\u0020Berg boss=is.null",
    embeds: "ships postings boss crew:sailors!boss"
  },
  { name: "postings", columns: "ship sailor rank", conditions: "ship=eq.1 rank=phfts.mate", embeds: "ships sailors" },
  { name: "active_ships", columns: "id name home", conditions: "id=gt.0 name=gt.B", embeds: "ports papers voyages" },
  {
    name: "registry",
    columns: "ship_id ship_name number port_id",
    conditions: "ship_id=eq.1",
    embeds: "ports sailors"
  },
  { name: "stays", columns: "id port berth ship", conditions: "id=gt.0", embeds: "berths ships" }
]
const calls: ReadonlyArray<readonly [name: string, query: string, body: string, of: string]> = [
  ["ships_over", "floor=50", '{"floor":50}', "ships"],
  ["ship_named", "called=Aurora", '{"called":"Aurora"}', "ships"],
  ["launch", "called=New", '{"called":"New"}', "ships"],
  ["tallies", "", "{}", "ships"],
  ["names", "", "{}", "ports"],
  ["add", "a=1&b=2", '{"a":1}', "ports"],
  ["total", "numbers=1&numbers=2", '{"numbers":[1,2]}', "ports"],
  ["longest", "words={a,b}", '{"words":["a"]}', "ports"],
  ["echo", "", "[1,null]", "ports"],
  ["describe", "thing={}", '{"thing":{}}', "ports"],
  ["nothing", "", "{}", "ports"],
  ["refuse", "status=P0001", '{"status":"PT418"}', "ports"]
]

const value = mostly(
  oneOf('1 -1 x null true red (1,2) {1,2} {a,"b"} {} [1,5) "a,b" {"a":1} 2026-01-01 NaN 1e999 () "'),
  anything,
  2
)
const operator = joined(
  some(fc.constant("not.")),
  oneOf(
    "eq neq gt gte lt lte like ilike match imatch in is isdistinct cs cd ov sl sr nxr nxl adj fts plfts phfts wfts eq(any) like(all) gt(any) fts(english) wfts(nope) nope"
  )
)
type Pair = readonly [string, string]
const split = (text: string, by: string): Pair => {
  const at = text.indexOf(by)
  return [text.slice(0, at), text.slice(at + 1)]
}
const path = some(oneOf('->a ->>a ->0 ->deck->>length ->-1 ->>"x\u0020y" -> ->>99999999999999'))
const modifiers = oneOf("::text .sum() .count() .max()::text ::nope ::int .avg()")

/** The parts of a query on a table. */
const partsOf = ({ columns, conditions, embeds }: Table) => {
  const field = mostly(oneOf(columns), joined(oneOf(columns), path))
  const condition = fc.oneof(
    { weight: 6, arbitrary: oneOf(conditions).map((text) => split(text, "=")) },
    { weight: 2, arbitrary: fc.tuple(field, joined(operator, ".", value)) }
  )
  const leaf = condition.map(([key, test]) => {
    const [of, literal] = split(test, ".")
    const bare = /^(in|not|is)$/.test(of) || /^[\w*^-]*$/.test(literal) || literal.startsWith("{")
    return `${key}.${of}.${bare ? literal : `"${literal.replaceAll(/["\\]/g, "\\$&")}"`}`
  })
  const tree: fc.Arbitrary<string> = fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small" },
      mostly(leaf, anything, 30),
      joined(oneOf("and or not.and not.or"), "(", listOf(tie("tree"), 3), ")")
    )
  })).tree
  const item: fc.Arbitrary<string> = fc.oneof(
    { weight: 6, arbitrary: mostly(field, joined(some(fc.constant("x:")), field, modifiers), 5) },
    { weight: 1, arbitrary: oneOf("* count() n:count()") }
  )
  const inner = tables.find(({ name }) => embeds.startsWith(name)) ?? tables[0]
  const embed = joined(
    some(fc.constant("...")),
    oneOf(embeds),
    "(",
    mostly(oneOf(`* id count() ${inner?.columns ?? "id"}`), fc.constant("*,sailors(*),ports(id,ships(id))"), 5),
    ")"
  )
  const selected = listOf(fc.oneof({ weight: 3, arbitrary: item }, { weight: 2, arbitrary: embed }))
  const first = embeds.split(/[ !]/)[0] ?? "x"
  const term = joined(mostly(field, joined(first, "(id)"), 5), some(oneOf(".asc .desc .nullsfirst .desc.nullslast")))
  const number = mostly(oneOf("0 1 3"), oneOf("-1 99999999999999999999 x 1.5"))
  return mostly<Pair>(
    fc.oneof<Array<fc.WeightedArbitrary<Pair>>>(
      { weight: 4, arbitrary: condition },
      { weight: 5, arbitrary: fc.tuple(fc.constant("select"), selected) },
      { weight: 2, arbitrary: fc.tuple(oneOf("or and not.or"), joined("(", listOf(tree), ")")) },
      { weight: 2, arbitrary: fc.tuple(fc.constant("order"), listOf(term)) },
      { weight: 1, arbitrary: fc.tuple(oneOf("limit offset"), number) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(oneOf(`order=id limit=1 offset=1 id=gt.1 or=(id.eq.1,id.eq.2)`), fc.constant(first))
          .map(([text, name]): Pair => split(`${name}.${text}`, "="))
      }
    ),
    fc.oneof<Array<fc.Arbitrary<Pair>>>(
      fc.tuple(oneOf("columns on_conflict"), oneOf('id name id,name nope "id" , ship,sailor')),
      fc.tuple(anything, anything)
    ),
    20
  )
}

const encode = (text: string) => encodeURIComponent(text.toWellFormed())
const queryOf = (pairs: ReadonlyArray<Pair>) => pairs.map(([key, of]) => `${encode(key)}=${encode(of)}`).join("&")
const rawQuery = fc.oneof(
  // Any percent-encoded bytes, valid UTF-8 or not.
  bytes(20).map((all) => [...all].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")),
  bytes(20).map((all) => all.toString("latin1").replaceAll(/[^\u0021-\u007e]/g, ""))
)

const preferences = listOf(
  mostly(
    oneOf(
      "return=representation return=minimal return=headers-only count=exact count=planned count=estimated resolution=merge-duplicates resolution=ignore-duplicates missing=default missing=null handling=lenient max-affected=1 tx=rollback timezone=Europe/Oslo"
    ),
    oneOf(
      "handling=strict count=nope max-affected=0 max-affected=x max-affected=99999999999999999999 timezone=Nope/Where timezone=05:30 timezone= params=single-object nope"
    ),
    5
  )
)
const goodAccept = oneOf(
  "application/json text/csv application/vnd.pgrst.object+json application/vnd.pgrst.array+json;nulls=stripped application/vnd.pgrst.object+json;nulls=stripped application/vnd.pgrst.plan application/vnd.pgrst.plan+json application/vnd.pgrst.plan+text;options=analyze|verbose|wal */*"
)
const header: fc.Arbitrary<Pair> = mostly<Pair>(
  fc.oneof<Array<fc.Arbitrary<Pair>>>(
    fc.tuple(fc.constant("prefer"), preferences),
    fc.tuple(fc.constant("prefer"), preferences),
    fc.tuple(fc.constant("range"), oneOf("0-0 1-2 5-1 10- 99999999999999999999- bytes=0-1 -5 x")),
    fc.tuple(fc.constant("accept"), goodAccept),
    fc.tuple(oneOf("accept-profile content-profile"), fc.constant("public"))
  ),
  fc.oneof<Array<fc.Arbitrary<Pair>>>(
    fc.tuple(
      fc.constant("accept"),
      oneOf("application/geo+json text/* text/html,*/*;q=0.1 application/octet-stream text/plain x ;;,")
    ),
    fc.tuple(
      fc.constant("accept"),
      fc.constant('application/vnd.pgrst.plan+json; for="text/csv"; options=buffers|nope')
    ),
    fc.tuple(oneOf("accept-profile content-profile"), oneOf("crew svc nope pg_catalog")),
    fc.tuple(
      fc.constant("content-type"),
      oneOf("text/plain application/octet-stream text/xml application/json;charset=latin1 nope")
    ),
    fc.tuple(
      oneOf("prefer range accept content-type accept-profile cookie x-any"),
      fc.string({ unit: fc.constantFrom(..."ab=,;\"'/*+-.\u00e9\t %\\:"), maxLength: 12 })
    )
  ),
  8
)
const headers = fc.array(header, { maxLength: 2 }).map((all) => Object.fromEntries(all))

/** A body of rows, and its content type. */
const bodyOf = ({ columns }: Table): fc.Arbitrary<readonly [Buffer, string]> => {
  const column = mostly(
    oneOf(columns).filter((name) => !name.includes("->")),
    anything,
    30
  )
  const good = fc.constantFrom<unknown>(1, 2, 50, null, true, "red", "[1,2)", ["a"], { a: 1 }, "2026-01-01")
  const row = fc.dictionary(
    column,
    mostly(good, fc.oneof<Array<fc.Arbitrary<unknown>>>(fc.jsonValue({ maxDepth: 2 }), value), 3),
    { maxKeys: 4 }
  )
  const json = "application/json"
  const encoded = (texts: fc.Arbitrary<unknown>, type = json) =>
    texts.map((one) => [Buffer.from(typeof one === "string" ? one : JSON.stringify(one)), type] as const)
  return fc.oneof(
    { weight: 4, arbitrary: encoded(row) },
    { weight: 4, arbitrary: encoded(fc.array(row, { maxLength: 3 })) },
    {
      weight: 2,
      arbitrary: encoded(
        fc
          .tuple(listOf(column), fc.array(listOf(value), { maxLength: 3 }))
          .map(([head, lines]) => [head, ...lines].join("\n")),
        "text/csv"
      )
    },
    {
      weight: 1,
      arbitrary: encoded(
        fc.array(fc.tuple(column, value), { maxLength: 3 }).map(queryOf),
        "application/x-www-form-urlencoded"
      )
    },
    { weight: 1, arbitrary: encoded(fc.jsonValue().map((any) => JSON.stringify(any))) },
    { weight: 1, arbitrary: bytes(30).map((all) => [all, json] as const) }
  )
}

const onTable = fc.constantFrom(...tables).chain((table) =>
  fc
    .record({
      method: mostly(oneOf("GET GET GET GET HEAD POST POST PATCH PUT DELETE"), oneOf("OPTIONS TRACE PURGE"), 30),
      pairs: fc.array(partsOf(table), { maxLength: 4 }),
      raw: mostly(fc.constant(undefined), rawQuery, 20),
      name: mostly(
        fc.constant(table.name),
        fc.oneof(
          anything.map(encode).filter((name) => !/^\.{0,2}$/.test(name)),
          fc.constant("nope")
        ),
        30
      ),
      filter: oneOf(table.conditions),
      headers,
      body: bodyOf(table)
    })
    .map(({ method, pairs, raw, name, filter, headers, body: [body, type] }): RowRequest => {
      // Changes without a filter are rejected immediately.
      const filters = method === "PATCH" || method === "DELETE" ? [split(filter, "=")] : []
      const query = raw ?? queryOf([...filters, ...pairs])
      const writes = /^P[^R]/.test(method)
      return {
        method,
        path: `/v1/db/${name}${query === "" ? "" : `?${query}`}`,
        headers: writes ? { "content-type": type, ...headers } : headers,
        body: writes ? body : undefined
      }
    })
)
const onFunction = fc.constantFrom(...calls).chain(([name, query, given, of]) => {
  const table = tables.find((one) => one.name === of) as Table
  return fc
    .record({
      method: mostly(oneOf("GET HEAD POST POST"), oneOf("OPTIONS PUT DELETE"), 30),
      pairs: fc.array(partsOf(table), { maxLength: 3 }),
      headers,
      body: mostly(fc.constant([Buffer.from(given), "application/json"] as const), bodyOf(table), 5)
    })
    .map(({ method, pairs, headers, body: [body, type] }): RowRequest => {
      const post = method === "POST"
      const all = [...(post || query === "" ? [] : [query]), ...(pairs.length === 0 ? [] : [queryOf(pairs)])].join("&")
      return {
        method,
        path: `/v1/db/rpc/${name}${all === "" ? "" : `?${all}`}`,
        headers: post ? { "content-type": type, ...headers } : headers,
        body: post ? body : undefined
      }
    })
})
/** Mostly valid requests, with occasional mistakes. */
export const anyRowRequest: fc.Arbitrary<RowRequest> = fc.oneof(
  { weight: 3, arbitrary: onTable },
  { weight: 1, arbitrary: onFunction }
)
