import { type Caller } from "./callers.ts"
import { type Answer } from "./client.ts"
import { allWrittenTables, changingTables, hotRows, rowsPerOwner, steadyTables, writtenTables } from "./database.ts"
import { onlyForUsers, type PoisonGroup, poisons } from "./poisons.ts"
import { type Random } from "./random.ts"

/**
 * | | |
 * |---|---|
 * | foreign | rows, claims or effects of another caller |
 * | missing | fewer rows than the caller owns |
 * | leftover | session state of another caller |
 * | error | a correct request failed |
 * | lost | a write that was confirmed is not in the table |
 * | duplicate | a write was made twice |
 */
export type FindingKind = "foreign" | "missing" | "leftover" | "error" | "lost" | "duplicate"

export interface Finding {
  readonly kind: FindingKind
  readonly text: string
}

export interface Request {
  /** For the counts of the report. */
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Whether the client may hang up: the request may then still run while the caller's next one does. */
  readonly mayHangUp: boolean
  /** Whether it ends badly by intention, with any status. */
  readonly poison?: boolean
  /** Examines a successful answer. */
  readonly check: (answer: Answer) => Finding | undefined
}

type Row = Readonly<Record<string, unknown>>

const found = (kind: FindingKind, text: string): Finding => ({ kind, text })

/** Sessions' state on connections that no request has used before, by kind of caller and schema. */
export type Baselines = Map<string, Row>

export const baselineOf = (caller: Caller, schema: string) => `${caller.kind} ${schema}`

/** A state without what belongs to the caller. */
const impersonal = ({ claims: _claims, sub: _sub, ...rest }: Row): Row => rest

const differences = (seen: unknown, expected: unknown, at = ""): ReadonlyArray<string> => {
  if (typeof seen !== "object" || typeof expected !== "object" || seen === null || expected === null) {
    return seen === expected ? [] : [`${at}: ${JSON.stringify(seen)}, not ${JSON.stringify(expected)}`]
  }
  const names = new Set([...Object.keys(seen), ...Object.keys(expected)])
  return [...names].flatMap((name) => differences((seen as Row)[name], (expected as Row)[name], `${at}/${name}`))
}

const json = (body: object) => JSON.stringify(body)

/** What the callers do: everything, or mostly writes. */
export type Mix = "all" | "writes"

export class Requests {
  private readonly random: Random
  private readonly users: number
  private readonly mix: Mix
  private readonly tables: ReadonlyArray<string>
  private readonly groups: ReadonlyArray<readonly [number, PoisonGroup]>
  private readonly userGroups: typeof this.groups
  readonly baselines: Baselines = new Map()
  /** Distinguishes what this run writes from what earlier runs in the same tables did. */
  private readonly run = Date.now().toString(36)
  private notes = 0

  /** Who wrote which stamp into `hot_write`. */
  readonly stamps = new Map<string, string>()

  constructor(random: Random, users: number, groups: ReadonlyArray<PoisonGroup>, mix: Mix) {
    this.random = random
    this.users = users
    this.mix = mix
    this.tables = mix === "writes" ? allWrittenTables : writtenTables
    // Those that end sessions make every other request rarer.
    const weight = (group: PoisonGroup) => (group === "others" || group === "ends" ? 0.3 : 1)
    this.userGroups = groups.map((group) => [weight(group), group] as const)
    this.groups = this.userGroups.filter(([, group]) => !onlyForUsers.has(group))
  }

  readonly next = (caller: Caller): Request => {
    const writes = this.mix === "writes" ? 2 : 1
    const reads = this.mix === "writes" ? 0.1 : 1
    const make = this.random.weighted<(caller: Caller) => Request>([
      [40 * reads, this.read],
      [4 * reads, this.embed],
      [5 * reads, this.functionRows],
      [4, this.tenantOf],
      [3, this.stateOf],
      [1 * reads, this.slowSub],
      [12 * writes, this.insert],
      [5 * writes, this.update],
      [5 * writes, this.nextVersion],
      [2 * writes, this.upsert],
      [2 * writes, this.hot],
      [5 * writes, this.remove],
      [2, this.addNote],
      [this.groups.length === 0 ? 0 : 5, this.poison]
    ])
    return make(caller)
  }

  /** A text that no other write has. */
  private readonly newNote = () => `${this.run}-${++this.notes}`

  private readonly someUser = () => `u${this.random.below(this.users)}`

  /** Whether its policies show a caller its own rows alone. */
  private readonly restricted = ({ kind }: Caller) => kind === "user" || kind === "anonymous"

  private readonly rowsOf =
    (owner: string, count: number, column = "owner") =>
    ({ headers, text }: Answer): Finding | undefined => {
      if (headers["x-poison"] !== undefined) return found("leftover", `response.headers of another caller`)
      const rows: unknown = JSON.parse(text)
      if (!Array.isArray(rows)) return found("error", `no list of rows: ${text}`)
      const foreign = (rows as ReadonlyArray<Row>).filter((row) => row[column] !== owner)
      if (foreign.length > 0) return found("foreign", `${foreign.length} rows, such as ${JSON.stringify(foreign[0])}`)
      return rows.length === count ? undefined : found("missing", `${rows.length} of ${count} rows`)
    }

  private readonly read = (caller: Caller): Request => {
    const { random } = this
    // The condition of a view applies to service keys as well.
    const tables = [...steadyTables, ...changingTables].filter((name) => this.restricted(caller) || name !== "viewed")
    const table = random.of(tables)
    const owner = this.restricted(caller) ? caller.sub : this.someUser()
    // Every alias is a new text of the statement.
    const alias = random.chance(0.2) ? `o${random.below(2000)}` : "owner"
    const filters = this.restricted(caller)
      ? random.of([
          "",
          "",
          "",
          "&limit=100",
          "&order=id.desc",
          "&id=gt.0",
          `&or=(owner.eq.${caller.sub || "zz"},id.gt.0)`
        ])
      : `&owner=eq.${owner}`
    const [filter, count] = random.weighted<readonly [string, number]>([
      [8, [filters, rowsPerOwner]],
      [1, [`${filters}&limit=1`, 1]],
      [1, [`${filters}&body=eq.of ${encodeURIComponent(`${owner} é`)}`, rowsPerOwner]],
      [this.restricted(caller) ? 1 : 0, [`&owner=eq.nobody`, 0]]
    ])
    const counted = random.chance(0.1)
    return {
      name: `read ${table}`,
      method: "GET",
      path: `/v1/db/${table}?select=id,${alias === "owner" ? "" : `${alias}:`}owner,body${filter.replaceAll(" ", "%20")}`,
      ...(counted ? { headers: { prefer: "count=exact" } } : {}),
      mayHangUp: true,
      check: (answer) => {
        const finding = this.rowsOf(owner, count, alias)(answer)
        if (finding !== undefined || !counted) return finding
        const total = String(answer.headers["content-range"]).split("/")[1]
        const all = filter.includes("nobody") ? 0 : rowsPerOwner
        return total === String(all) ? undefined : found("foreign", `counted ${total}, not ${all}`)
      }
    }
  }

  private readonly embed = (caller: Caller): Request => {
    const owner = this.restricted(caller) ? caller.sub : this.someUser()
    const filter = this.restricted(caller) ? "" : `&owner=eq.${owner}&tasks.owner=eq.${owner}`
    // Of the two users with a task in each list, the policy shows one.
    return {
      name: "embed",
      method: "GET",
      path: `/v1/db/lists?select=id,owner,tasks(owner)${filter}`,
      mayHangUp: true,
      check: (answer) => {
        const finding = this.rowsOf(owner, 1)(answer)
        if (finding !== undefined) return finding
        const [list] = JSON.parse(answer.text) as [{ readonly tasks: ReadonlyArray<Row> }]
        return this.rowsOf(owner, owner === "" ? 1 : 2 - 1)({ ...answer, text: JSON.stringify(list.tasks) })
      }
    }
  }

  private readonly functionRows = (caller: Caller): Request => {
    const owner = this.restricted(caller) ? caller.sub : this.someUser()
    const name = this.random.of(["my_rows", "my_standard_rows", "my_promised_rows"])
    const filter = this.restricted(caller) ? "" : `&owner=eq.${owner}`
    return {
      name: `call ${name}`,
      ...(this.random.chance(0.5) ? { method: "GET" } : { method: "POST", body: "{}" }),
      path: `/v1/db/rpc/${name}?select=id,owner,body${filter}`,
      mayHangUp: true,
      check: this.rowsOf(owner, rowsPerOwner)
    }
  }

  private readonly tenantOf = (caller: Caller): Request => ({
    name: "call my_tenant",
    method: "POST",
    path: "/v1/db/rpc/my_tenant",
    body: "{}",
    mayHangUp: true,
    check: ({ text }) =>
      text === JSON.stringify(caller.sub) ? undefined : found("foreign", `the tenant of ${caller.sub} was ${text}`)
  })

  private readonly slowSub = (caller: Caller): Request => ({
    name: "call sub_after",
    method: "POST",
    path: "/v1/db/rpc/sub_after",
    body: json({ seconds: this.random.next() / 50 }),
    mayHangUp: true,
    check: ({ text }) =>
      text === JSON.stringify(caller.sub) ? undefined : found("foreign", `the sub of ${caller.sub} was ${text}`)
  })

  readonly stateOf = (caller: Caller, chosen?: string): Request => {
    const schema = chosen ?? this.random.of(["public", "public", "other"])
    return {
      name: `state ${schema}`,
      method: "POST",
      path: "/v1/db/rpc/state",
      headers: { "content-profile": schema },
      body: "{}",
      mayHangUp: false,
      check: ({ text }) => {
        const state = JSON.parse(text) as Row
        const { claims, sub } = state
        if (sub !== caller.sub) return found("foreign", `the sub of ${caller.sub} was ${String(sub)}`)
        if (caller.sub !== "" && (JSON.parse(String(claims)) as Row)["sub"] !== caller.sub) {
          return found("foreign", `the claims of ${caller.sub} were ${String(claims)}`)
        }
        const seen = caller.sub === "" ? state : impersonal(state)
        const expected = this.baselines.get(baselineOf(caller, schema))
        if (expected === undefined) {
          this.baselines.set(baselineOf(caller, schema), seen)
          return undefined
        }
        const left = differences(seen, expected)
        return left.length === 0 ? undefined : found("leftover", left.slice(0, 3).join("; "))
      }
    }
  }

  private readonly keptOf = ({ kept }: Caller, table: string) => {
    const ids = kept.get(table) ?? new Map<number, number>()
    kept.set(table, ids)
    return ids
  }

  private readonly written = (caller: Caller, rows: ReadonlyArray<Row>) => {
    const foreign = rows.find((row) => row["owner"] !== caller.sub || row["writer"] !== caller.sub)
    return foreign && found("foreign", `${caller.sub || "a caller without a JWT"} wrote ${JSON.stringify(foreign)}`)
  }

  private readonly insert = (caller: Caller): Request => {
    const table = this.random.of(this.tables)
    const count = this.random.chance(0.2) ? 3 : 1
    const made = Array.from({ length: count }, () => ({ writer: caller.sub, note: this.newNote() }))
    return {
      name: `insert ${table}`,
      method: "POST",
      path: `/v1/db/${table}?select=id,owner,writer,note`,
      body: JSON.stringify(count === 1 ? made[0] : made),
      mayHangUp: true,
      check: ({ text }) => {
        const rows = JSON.parse(text) as ReadonlyArray<Row>
        const finding = this.written(caller, rows)
        if (finding !== undefined) return finding
        if (rows.length !== count) return found("lost", `${rows.length} of ${count} rows were inserted`)
        for (const { id } of rows) this.keptOf(caller, table).set(Number(id), 0)
        return undefined
      }
    }
  }

  private readonly addNote = (caller: Caller): Request => ({
    name: "call add_note",
    method: "POST",
    path: "/v1/db/rpc/add_note",
    body: json({ note: this.newNote(), writer: caller.sub }),
    mayHangUp: true,
    check: ({ text }) =>
      text === JSON.stringify(caller.sub) ? undefined : found("foreign", `${caller.sub} added a note of ${text}`)
  })

  /** Changes all rows that the caller sees, which must be its own. */
  private readonly update = (caller: Caller): Request => {
    const table = this.random.of(this.tables)
    const filter = this.restricted(caller) ? "id=gt.0" : `owner=eq.${caller.sub}`
    const alias = this.random.chance(0.3) ? `a${this.random.below(2000)}:id` : "id"
    return {
      name: `update ${table}`,
      method: "PATCH",
      path: `/v1/db/${table}?${filter}&select=${alias},owner,writer`,
      body: json({ last_writer: caller.sub }),
      mayHangUp: true,
      check: ({ text }) => {
        const rows = JSON.parse(text) as ReadonlyArray<Row>
        const finding = this.written(caller, rows)
        // Callers without a JWT are one and the same, and write at the same time.
        if (finding !== undefined || caller.sub === "") return finding
        const expected = this.keptOf(caller, table).size
        return rows.length >= expected ? undefined : found("lost", `${rows.length} of ${expected} rows were changed`)
      }
    }
  }

  /** Changes a row if it has the version that the caller knows: a second time would change none. */
  private readonly nextVersion = (caller: Caller): Request => {
    const table = this.random.of(this.tables)
    const kept = this.keptOf(caller, table)
    const [[id, version] = [0, 0]] = kept
    kept.delete(id)
    return {
      name: `next version ${table}`,
      method: "PATCH",
      path: `/v1/db/${table}?id=eq.${id}&version=eq.${version}&select=id,owner,writer,version`,
      body: json({ version: version + 1, last_writer: caller.sub }),
      mayHangUp: true,
      check: ({ text }) => {
        const rows = JSON.parse(text) as ReadonlyArray<Row>
        const finding = this.written(caller, rows)
        if (finding !== undefined || id === 0) return finding
        if (rows.length !== 1 || rows[0]?.["version"] !== version + 1) {
          return found("lost", `version ${version} of row ${id} became ${text}`)
        }
        kept.set(id, version + 1)
        return undefined
      }
    }
  }

  /** Replaces a row of the caller by its primary key, or inserts one. */
  private readonly upsert = (caller: Caller): Request => {
    // Views have no primary key.
    const table = this.random.of(this.tables.filter((name) => name !== "viewed_write"))
    const kept = this.keptOf(caller, table)
    const [[id, version] = [undefined, 0]] = kept
    if (id !== undefined) kept.delete(id)
    const row = { writer: caller.sub, note: this.newNote(), version, last_writer: caller.sub }
    return {
      name: `upsert ${table}`,
      method: "POST",
      path: `/v1/db/${table}?select=id,owner,writer,note`,
      headers: { prefer: "resolution=merge-duplicates" },
      body: json(id === undefined ? row : { id, ...row }),
      mayHangUp: true,
      check: ({ text }) => {
        const rows = JSON.parse(text) as ReadonlyArray<Row>
        const finding = this.written(caller, rows)
        if (finding !== undefined) return finding
        if (rows.length !== 1) return found("lost", `${rows.length} rows of 1`)
        kept.set(Number(rows[0]?.["id"]), version)
        return undefined
      }
    }
  }

  /** Writes one of the rows that everyone writes: callers wait for each other. */
  private readonly hot = (caller: Caller): Request => {
    const id = this.random.below(hotRows)
    const stamp = this.newNote()
    const row = { writer: caller.sub, stamp }
    this.stamps.set(stamp, caller.sub)
    const change = this.random.chance(0.7)
    return {
      name: `hot ${change ? "update" : "upsert"}`,
      method: change ? "PATCH" : "POST",
      path: `/v1/db/hot_write?${change ? `id=eq.${id}&` : ""}select=writer,stamp`,
      ...(change ? {} : { headers: { prefer: "resolution=merge-duplicates" } }),
      body: json(change ? row : { id, ...row }),
      mayHangUp: true,
      check: ({ text }) => {
        const rows = JSON.parse(text) as ReadonlyArray<Row>
        if (rows.length !== 1) return found("lost", `${rows.length} rows of 1`)
        const same = rows[0]?.["writer"] === caller.sub && rows[0]?.["stamp"] === stamp
        return same ? undefined : found("foreign", `${caller.sub} wrote ${stamp} and got ${text}`)
      }
    }
  }

  /** Deletes all rows that the caller sees, or some by their ids. */
  private readonly remove = (caller: Caller): Request => {
    const table = this.random.of(this.tables)
    const kept = this.keptOf(caller, table)
    const all = caller.kind === "user" && this.random.chance(0.5)
    const ids = [...kept.keys()].slice(0, all ? Infinity : 2)
    for (const id of ids) kept.delete(id)
    return {
      name: `delete ${table}`,
      method: "DELETE",
      path: `/v1/db/${table}?${all ? "id=gt.0" : `id=in.(${ids.join()})`}&select=id,owner,writer`,
      mayHangUp: !all,
      check: ({ text }) => {
        const rows = JSON.parse(text) as ReadonlyArray<Row>
        const finding = this.written(caller, rows)
        if (finding !== undefined) return finding
        const gone = new Set(rows.map(({ id }) => Number(id)))
        const lost = ids.filter((id) => !gone.has(id))
        return lost.length === 0 ? undefined : found("lost", `${lost.length} of ${ids.length} rows were not there`)
      }
    }
  }

  private readonly poison = (caller: Caller): Request => {
    const { random } = this
    const group = random.weighted(
      caller.kind === "service" || caller.kind === "claiming" ? this.groups : this.userGroups
    )
    const at = random.below(poisons[group].length)
    const statement = poisons[group][at] as string
    const n = numberOf(group, at)
    const rpc = (name: string, body: object) => ({ method: "POST", path: `/v1/db/rpc/${name}`, body: json(body) })
    const sink = (table: string) => ({ method: "POST", path: `/v1/db/${table}`, body: json({ n }) })
    const made = random.weighted<() => Pick<Request, "method" | "path" | "body">>([
      [6, () => rpc("poison", { statement })],
      [1, () => rpc("poison_quietly", { statement })],
      [1, () => rpc("poison_stable", { statement })],
      [1, () => rpc("poison_and_fail", { statement, state: random.of(["P0001", "26000", "0A000", "57014"]) })],
      [1, () => rpc("poison_and_wait", { statement, seconds: random.chance(0.02) ? 60 : random.next() / 50 })],
      [2, () => ({ method: "GET", path: `/v1/db/poison_view?n=eq.${n}` })],
      [1, () => sink("poison_sink")],
      [1, () => sink("poison_check")]
    ])()
    return { name: `poison ${group}`, ...made, mayHangUp: true, poison: true, check: () => undefined }
  }
}

const statements = Object.entries(poisons).flatMap(([group, all]) =>
  all.map((statement, at) => ({ group, at, statement }))
)

/** The number of a poison in the table `poisons`. */
const numberOf = (group: PoisonGroup, at: number) =>
  statements.findIndex((statement) => statement.group === group && statement.at === at)

export const numberedPoisons = statements.map(({ statement }, n) => ({ n, statement }))
