/** Random requests: the routes, methods and grammar of the service, with values and bodies of every wrong kind. */
import { Random } from "../isolation/random.ts"
import { request, type Request } from "./client.ts"
import { type Server, type Target } from "./pattern.ts"

export interface FuzzRequest extends Request {
  readonly server: Server
  readonly path: string
}

const methods = [
  [50, "GET"],
  [25, "POST"],
  [6, "PATCH"],
  [6, "PUT"],
  [6, "DELETE"],
  [4, "HEAD"],
  [2, "OPTIONS"],
  [1, "TRACE"],
  [1, "PROPFIND"],
  [0.5, "get"]
] as const
const tables = ["notes", "parents", "children", "nothing", "svc.api_keys", "pg_class", "été", '"notes"', "notes;", " "]
const columns = ["nothing", "*", "id::text", "body->a->>b", "body->0", '"a b"', "id.sum()", "count()"]
const columnsOf: Readonly<Record<string, ReadonlyArray<string>>> = {
  notes: ["id", "body"],
  parents: ["id", "name"],
  children: ["id", "parent", "name"]
}
const operators =
  "eq neq gt gte lt lte like ilike match imatch in is isdistinct fts plfts phfts wfts cs cd ov sl sr nxr nxl adj not.eq eq(any) like(all) fts(english) eqq not".split(
    " "
  )
const values = [
  "1",
  "-1",
  "0",
  "abc",
  "",
  "null",
  "true",
  "1.5",
  "1e400",
  "99999999999999999999999",
  "(1,2,3)",
  '("a","b,c")',
  "{1,2}",
  "[1,5)",
  "*a*",
  "a%b_c",
  '{"a":[1,{"b":null}]}',
  "2024-02-30",
  "infinity",
  "Zoë 中文 🙂",
  "\0",
  "\ud800",
  "'; drop table notes; --",
  "1) or (1=1",
  "${7*7}",
  "../../etc/passwd",
  "%00",
  "%",
  "\\",
  '"',
  "[a-",
  "(((",
  "a:b & c",
  "a <-> b"
]
const prefers =
  "return=minimal return=representation return=headers-only count=exact count=planned count=estimated resolution=merge-duplicates resolution=ignore-duplicates missing=default handling=strict handling=lenient tx=rollback tx=commit max-affected=1 max-affected=x timezone=UTC timezone=Nowhere/Land params=single-object respond-async".split(
    " "
  )
const mediaTypes =
  "application/json text/csv application/vnd.pgrst.object+json application/vnd.pgrst.array+json;nulls=stripped application/vnd.pgrst.plan application/openapi+json text/plain application/octet-stream text/xml */* nothing application/json;q=0 application/x-www-form-urlencoded multipart/form-data;boundary=a".split(
    " "
  )
const credentials = [
  [20, "anon"],
  [1, "none"],
  [1, "unknown"],
  [1, "malformed"]
] as const
const flagPath = "/ofrep/v1/evaluate/flags"
const connectPath = "/flagd.evaluation.v2.Service/ResolveBoolean"

/** The request of this number. The same seed and number give the same request. */
export const fuzzRequest = (seed: number, n: number, target: Target): FuzzRequest => new Maker(seed, n, target).make()

class Maker {
  private readonly random: Random
  private readonly target: Target
  private table = "notes"

  constructor(seed: number, n: number, target: Target) {
    this.random = new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(n + 1, 0x85ebca6b))
    this.target = target
  }

  make(): FuzzRequest {
    const { random } = this
    const server = random.weighted([
      [20, "api"],
      [2, "ofrep"],
      [1, "flags"],
      [0.5, "sync"],
      [2, "s3"]
    ] as const)
    const method = server === "api" || server === "s3" ? random.weighted(methods) : random.chance(0.9) ? "POST" : "GET"
    const path = this.mutated(this.pathOf(server))
    const body = method === "GET" || method === "HEAD" ? undefined : this.body()
    const headers = { ...this.headers(server), ...(body === undefined ? {} : { "content-type": this.contentType() }) }
    const target = `/${path.slice(1).replaceAll(/[^!-~]/g, "_")}`.slice(0, random.chance(0.01) ? 70_000 : 20_000)
    return { server, path: target, ...request(method, target, headers, body) }
  }

  private pathOf(server: Server): string {
    const { random } = this
    switch (server) {
      case "ofrep":
        return random.of([flagPath, `${flagPath}/flag-2`, `${flagPath}/${this.value()}`, `${flagPath}/`, "/"])
      case "flags":
        return random.of([connectPath, connectPath, `/flagd.evaluation.v1.Service/ResolveInt`, `/${this.value()}`])
      case "sync":
        return random.of([
          "/flagd.sync.v1.FlagSyncService/FetchAllFlags",
          "/flagd.sync.v1.FlagSyncService/GetMetadata",
          "/a"
        ])
      case "s3":
        return random.of([
          "/",
          "/abused",
          "/abused/object",
          `/abused/${this.value()}`,
          `/abused?${random.of(["policy", "cors", "uploads", "versions", "delete", "location", "list-type=2"])}`,
          `/abused/object?uploadId=${this.value()}&partNumber=${this.value()}`,
          `/${this.value()}?X-Amz-Signature=a&X-Amz-Credential=${this.value()}&X-Amz-Date=${this.value()}`
        ])
      default:
        return this.apiPath()
    }
  }

  private apiPath(): string {
    const { random } = this
    return random.weighted<() => string>([
      [30, () => `/v1/db/${this.someTable()}?${this.query()}`],
      [8, () => `/v1/db/rpc/${random.of(["ping", "ping", "nothing", "pg_sleep", this.value()])}?${this.query()}`],
      [1, () => random.of(["/v1/db/", "/v1/db", "/docs", "/openapi.json", "/healthz", "/readyz", "/", "*"])],
      [
        2,
        () =>
          random.of(["/v1/sql", "/v1/sql/transaction", "/v1/status", "/v1/keys", "/v1/database/schema", "/v1/webhooks"])
      ],
      [1, () => `/v1/storage/buckets/${this.value()}/objects?prefix=${this.value()}`],
      [5, () => random.of([flagPath, `${flagPath}/flag-2`, `${flagPath}/${this.value()}`])],
      [
        4,
        () => random.of(["/api/flags/evaluate", "/api/flags/evaluate/bulk", "/api/flags", `/api/flags/${this.value()}`])
      ],
      [1, () => random.of(["/api/keys", "/api/webhooks", "/api/branches", "/api/backups", "/api/connections"])],
      [
        2,
        () =>
          random.of([
            `/oauth2/consent?consent_challenge=${this.value()}`,
            `/oauth2/logout?logout_challenge=${this.value()}`
          ])
      ],
      [2, () => `/api/auth/${random.of(["login", "recovery", "session", "mfa/totp/setup", "logout", this.value()])}`],
      [1, () => `/api/oauth2/bridge/${random.of(["login", "consent", "logout"])}?login_challenge=${this.value()}`],
      [1, () => `/realtime?since=${this.value()}&apikey=${this.value()}`],
      [1, () => `/${this.value()}/${this.value()}`]
    ])()
  }

  private someTable() {
    const { random } = this
    this.table = random.of(Object.keys(columnsOf))
    return random.chance(0.9) ? this.table : encodeURIComponent(random.of(tables))
  }

  /** Mostly one of the table's. */
  private column() {
    const { random } = this
    return random.chance(0.9) ? random.of(columnsOf[this.table] ?? []) : random.of(columns)
  }

  private query(): string {
    const { random } = this
    const parts: Array<string> = ["limit=20"]
    for (let left = random.below(4); left > 0; left--) {
      parts.push(
        random.weighted<() => string>([
          [4, () => `select=${this.select(random.below(4))}`],
          [6, () => `${this.column()}=${this.test()}`],
          [2, () => `${random.of(["or", "and", "not.or", "children.and"])}=(${this.conditions(random.below(5))})`],
          [2, () => `order=${this.column()}${random.of(["", ".desc", ".asc.nullsfirst", ".nothing", ".desc.desc"])}`],
          [1, () => `${random.of(["limit", "offset", "children.limit"])}=${this.value()}`],
          [1, () => `columns=${this.column()},${this.column()}`],
          [1, () => `on_conflict=${this.column()}`],
          [1, () => `${this.value()}=${this.value()}`]
        ])()
      )
    }
    return parts.join("&")
  }

  private select(depth: number): string {
    const { random } = this
    const items: Array<string> = []
    for (let left = 1 + random.below(4); left > 0; left--) {
      const alias = random.chance(0.2) ? `a${random.below(1000)}:` : ""
      items.push(alias + (depth > 0 && random.chance(0.5) ? this.embed(depth) : this.column()))
    }
    return items.join()
  }

  /** An embed of the table that is related to this one, in most cases. */
  private embed(depth: number) {
    const { random, table } = this
    this.table = table === "parents" ? "children" : "parents"
    const name = random.chance(0.9) ? this.table : "nothing"
    const hint = random.of(["", "", "!inner", "!left", "!parent", "!nothing"])
    const embed = `${random.of(["", "", "..."])}${name}${hint}(${this.select(depth - 1)})`
    this.table = table
    return embed
  }

  /** A filter, mostly by a number. */
  private test() {
    const { random } = this
    const usual = () => `${random.of(["eq", "neq", "gt", "lt", "not.eq"])}.${random.below(100)}`
    return random.chance(0.6) ? usual() : `${random.of(operators)}.${this.value()}`
  }

  private conditions(depth: number): string {
    const { random } = this
    const parts: Array<string> = []
    for (let left = 1 + random.below(3); left > 0; left--) {
      parts.push(
        depth > 0 && random.chance(0.4)
          ? `${random.of(["or", "and", "not.and"])}(${this.conditions(depth - 1)})`
          : `${this.column()}.${this.test()}`
      )
    }
    return parts.join()
  }

  private value(): string {
    const { random } = this
    const value = random.chance(0.02) ? random.of(["x", "(", "{", "a,"]).repeat(random.below(8_000)) : random.of(values)
    return random.chance(0.9) ? encodeURIComponent(value.toWellFormed()) : value
  }

  /** In one of ten cases with some characters replaced, removed or repeated. */
  private mutated(path: string): string {
    const { random } = this
    if (!random.chance(0.1)) return path
    let text = path
    for (let left = 1 + random.below(3); left > 0; left--) {
      const at = 1 + random.below(text.length)
      const put = random.of([
        "",
        "%",
        "%ff",
        "%00",
        "/",
        "//",
        "..",
        "(",
        ")",
        ",",
        ".",
        "&",
        "=",
        "'",
        '"',
        ";",
        "#",
        "?",
        "%F0%9F%99%82"
      ])
      text = text.slice(0, at) + put + text.slice(at + random.below(2))
    }
    return text
  }

  private headers(server: Server): Record<string, string> {
    const { random, target } = this
    const headers: Record<string, string> = {}
    const credential = random.weighted(credentials)
    if (credential === "unknown") headers["apikey"] = `svc_pk_${"A".repeat(43)}`
    else if (credential === "malformed") headers["apikey"] = "nothing"
    else if (credential === "anon" && server === "api") headers["apikey"] = target.key
    const may = (share: number, name: string, make: () => string) => {
      if (random.chance(share)) headers[name] = make()
    }
    may(0.2, "prefer", () => `${random.of(prefers)}, ${random.of(prefers)}`)
    may(0.2, "accept", () => `${random.of(mediaTypes)}, ${random.of(mediaTypes)};q=0.${random.below(9)}`)
    may(0.05, "range", () => random.of(["0-9", "5-", "9-3", "abc", "-5", "0-99999999999999999999", "bytes=0-1"]))
    may(0.05, random.of(["accept-profile", "content-profile"]), () =>
      random.of(["public", "svc", "pg_catalog", "'", ""])
    )
    may(0.05, "authorization", () =>
      random.of(["Bearer a.b.c", "Bearer", "Basic YTpi", `Bearer ${"e".repeat(9_000)}`, "AWS4-HMAC-SHA256 a"])
    )
    may(0.03, "x-api-key", () => random.of(["a", target.key]))
    may(0.03, "x-svc-branch", () => random.of(["1", "0", "-1", "main", "99999999999", "'"]))
    may(0.03, "x-request-id", () => random.of(["abc", "a b", "x".repeat(100)]))
    may(0.03, "content-encoding", () => random.of(["gzip", "identity", "br"]))
    may(0.03, "cookie", () => random.of(["svc_session=a", "idp_session=b; c", "=", "x".repeat(5_000)]))
    may(0.03, "origin", () => random.of(["https://a.example", "null", "x"]))
    may(0.03, "if-none-match", () => random.of(["*", '"a"', "W/"]))
    may(0.03, "flagd-selector", () => random.of(["production", "dev", "source=a", ","]))
    may(0.01, "expect", () => random.of(["100-continue", "a"]))
    may(0.01, "upgrade", () => "h2c")
    return headers
  }

  private contentType() {
    return this.random.chance(0.8) ? "application/json" : this.random.of(mediaTypes)
  }

  private body(): string | Uint8Array {
    const { random } = this
    return random.weighted<() => string | Uint8Array>([
      [10, () => JSON.stringify(this.row())],
      [6, () => JSON.stringify(Array.from({ length: random.below(20) }, () => this.row()))],
      [4, () => `{"context":${JSON.stringify(this.row())}}`],
      [3, () => `{"flagKey":${JSON.stringify(random.of(["flag-2", "", 1]))},"context":${JSON.stringify(this.row())}}`],
      [2, () => `{"flagKeys":["flag-1","nothing"],"context":${random.of(["{}", "null", "[]", "1"])}}`],
      [2, () => `{"sql":"select 1"}`],
      [
        3,
        () =>
          random.of([
            "",
            " ",
            "null",
            "1",
            '"a"',
            "[]",
            "{}",
            "[[]]",
            "[1]",
            "[null]",
            "{",
            "[{]",
            "\0",
            "\ufeff{}",
            "NaN"
          ])
      ],
      [2, () => `id,body\n${random.of(["1,2", "a", "1,2,3", '"', '"a""b",', "NULL,NULL"])}\n`],
      [1, () => Buffer.from([0xff, 0xfe, 0x22, 0xc3])],
      [1, () => "[".repeat(1 + random.below(100_000))],
      [1, () => `{"body":"${"x".repeat(random.below(300_000))}"}`],
      [0.1, () => Buffer.alloc(11_000_000, " ")],
      [1, () => `--a\r\ncontent-disposition: form-data; name="key"\r\n\r\n${this.value()}\r\n--a--\r\n`]
    ])()
  }

  private row(): unknown {
    const { random } = this
    const row: Record<string, unknown> = {}
    for (let left = random.below(4); left > 0; left--)
      row[random.of(["id", "body", "name", "parent", "nothing", ""])] = this.datum(3)
    return row
  }

  private datum(depth: number): unknown {
    const { random } = this
    if (depth > 0 && random.chance(0.2)) return [this.datum(depth - 1), this.datum(depth - 1)]
    if (depth > 0 && random.chance(0.2)) return { a: this.datum(depth - 1), [random.of(values)]: null }
    return random.of<unknown>([1, -1, 1.5, 1e300, null, true, "", 2 ** 53, ...values])
  }
}
