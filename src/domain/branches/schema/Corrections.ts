import {
  buildFactBase,
  type DependencyEdge,
  encodeId,
  type Fact,
  type FactBase,
  parseId,
  type StableId
} from "@supabase/pg-delta/core"
import { type Action } from "@supabase/pg-delta/plan"
import { quoteName } from "../../sql/Names.ts"
import { type UncoveredRow } from "./Uncovered.ts"

// What the library does not know of PostgreSQL 18, or can't order. Each correction has an example in the tests; when the
// library passes it, the correction goes.

/** The schema of a database as it was read, in plain values. */
export interface SchemaReading {
  readonly facts: ReadonlyArray<Fact>
  readonly edges: ReadonlyArray<DependencyEdge>
  /** Messages of the library about edges to what is no fact. */
  readonly dangling: ReadonlyArray<string>
  /** Columns that are computed when they are read, which the library takes for stored ones. */
  readonly virtual: ReadonlyArray<StableId>
  /** The role as which the service acts in the database, which owns what it creates. */
  readonly role: string
  readonly uncovered: ReadonlyArray<UncoveredRow>
}

/** Marks the expression of a virtual column; `correctedSql` looks for it in statements. */
const virtualMark = " /* svc: virtual */"

/** PostgreSQL 18 also lists NOT NULL of a domain as a constraint, which the statements would make twice. */
const isRepeated = ({ id, parent, payload }: Fact) =>
  id.kind === "constraint" && parent?.kind === "domain" && payload["type"] === "n"

const idOf = (text: string): StableId | undefined => {
  try {
    return parseId(text)
  } catch {
    return undefined
  }
}

const inheritedEdge = /^edge (.*) -\[depends\]-> (column:.*) references a fact not in the base$/s

/** What depends on an inherited column, which is no fact of its own, depends on its table. */
const edgeOnTable = (message: string): ReadonlyArray<DependencyEdge> => {
  const [, dependent = "", column = ""] = inheritedEdge.exec(message) ?? []
  const [from, on] = [idOf(dependent), idOf(column)]
  if (from === undefined || on?.kind !== "column") return []
  const to: StableId = { kind: "table", schema: on.schema, name: on.table }
  return encodeId(from) === encodeId(to) ? [] : [{ from, to, kind: "depends" }]
}

/** The facts of a database, without what would be done twice, and with virtual columns marked. */
export const correctedFacts = ({ dangling, edges, facts, virtual }: SchemaReading): FactBase => {
  const marked = new Set(virtual.map(encodeId))
  const kept = facts.flatMap((fact) => {
    if (isRepeated(fact)) return []
    const { generatedExpr } = fact.payload
    if (typeof generatedExpr !== "string" || !marked.has(encodeId(fact.id))) return [fact]
    return [{ ...fact, payload: { ...fact.payload, generatedExpr: `${generatedExpr}${virtualMark}` } }]
  })
  return buildFactBase(kept, [...edges, ...dangling.flatMap(edgeOnTable)])
}

/** `pg_get_indexdef` writes ONLY for an index of a partitioned table, which would leave its partitions without. */
const onlyOfIndex = /^(CREATE (?:UNIQUE )?INDEX (?:"(?:[^"]|"")*"|[^\s"]+) ON )ONLY /

/** Without ONLY, tables that inherit from it are added and removed with it, which have statements of their own. */
const memberOfPublication = /^(ALTER PUBLICATION "(?:[^"]|"")*" (?:ADD|DROP|SET) TABLE )(?!ONLY )/

/** A statement of the library as PostgreSQL 18 needs it. */
export const correctedSql = (sql: string) =>
  sql
    .replace(onlyOfIndex, "$1")
    .replace(memberOfPublication, "$1ONLY ")
    .replaceAll(`${virtualMark}) STORED`, ") VIRTUAL")

const holders: ReadonlySet<string> = new Set(
  "table foreignTable column sequence type typeAttribute domain schema extension server".split(" ")
)

/** What has no rows or values of its own, and so can be dropped and made again. */
const isMadeAgain = ({ id, payload }: Fact) =>
  !holders.has(id.kind) || (id.kind === "column" && typeof payload["generatedExpr"] === "string")

const isOf = (owner: unknown, schema: string, table: string) =>
  typeof owner === "object" &&
  owner !== null &&
  "schema" in owner &&
  owner.schema === schema &&
  "table" in owner &&
  owner.table === table

/** The given facts, their parts, and all that depends on them; undefined if a root of another kind depends on them, with values of its own. */
const closureOf = (facts: FactBase, roots: ReadonlyArray<StableId>): ReadonlySet<string> | undefined => {
  const found = new Set<string>()
  const rest = roots.map((id) => ({ id, goes: true }))
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const fact = facts.get(next.id)
    if (fact === undefined || found.has(encodeId(fact.id))) continue
    if (!next.goes && !isMadeAgain(fact)) return undefined
    found.add(encodeId(fact.id))
    rest.push(...facts.childrenOf(fact.id).map(({ id }) => ({ id, goes: true })))
    for (const { from, kind } of facts.incomingEdges(fact.id)) {
      // A partition goes with its table.
      if (kind === "depends") rest.push({ id: from, goes: fact.id.kind === "table" && from.kind === "table" })
    }
    // A sequence goes with the column that owns it.
    if (fact.id.kind === "table") {
      const { name, schema } = fact.id
      const owned = facts
        .facts()
        .filter(({ id, payload }) => id.kind === "sequence" && isOf(payload["ownedBy"], schema, name))
      rest.push(...owned.map(({ id }) => ({ id, goes: true })))
    }
  }
  return found
}

const word = /"(?:[^"]|"")*"|[^\s"(),]+/g
/** Whether the table is partitioned by a column, whose type then can't change. */
const partitionsBy = ({ payload: { partitionKey } }: Fact, column: string) =>
  typeof partitionKey === "string" &&
  (partitionKey.match(word) ?? []).some((one) => one === column || one === quoteName(column))

/** What PostgreSQL does not let a column that it uses change its type; a column is a generated one. */
const hindersType: ReadonlySet<string> = new Set(["column", "trigger", "policy", "rule", "publicationRel"])

const without = (facts: FactBase, ids: ReadonlySet<string>) =>
  buildFactBase(
    facts.facts().filter(({ id }) => !ids.has(encodeId(id))),
    facts.edges.filter(({ from, to }) => !ids.has(encodeId(from)) && !ids.has(encodeId(to)))
  )

/** What can't be changed of a table, so that it is made again. */
const ofTable = ["partitionKey", "partitionBound", "parentTable"] as const

const alters = ({ consumes, sql, verb }: Action, id: StableId, what: RegExp) =>
  verb === "alter" && what.test(sql) && consumes.some((one) => encodeId(one) === encodeId(id))

const dropsDefault = / ALTER COLUMN .* DROP DEFAULT$/s
const changesType = / ALTER COLUMN .* TYPE /s
const gainsIdentity = / ADD GENERATED (?:ALWAYS|BY DEFAULT) AS IDENTITY/
const followsType = / (?:SET DEFAULT |ADD GENERATED |SET NOT NULL$)/
const precedesIdentity = / ALTER COLUMN .* (?:TYPE |SET NOT NULL$)/s

const setsDefault = / ALTER COLUMN .* SET DEFAULT /s

/**
 * The actions, in which a column's old default goes before its type changes, and its new one and its identity come after. A
 * default that is set twice is set when what it uses is there.
 */
export const correctedOrder = (given: ReadonlyArray<Action>): ReadonlyArray<Action> => {
  const actions = given.filter(
    ({ sql }, at) => !setsDefault.test(sql) || given.findLastIndex((other) => other.sql === sql) === at
  )
  const sorted = [...actions]
  const move = (action: Action, to: (at: number) => number) => {
    const at = sorted.indexOf(action)
    const place = to(at)
    sorted.splice(at, 1)
    sorted.splice(place > at ? place - 1 : place, 0, action)
  }
  for (const action of actions) {
    const column = action.consumes.find(({ kind }) => kind === "column")
    if (column === undefined || action.verb !== "alter") continue
    const index = (what: RegExp) => sorted.findLastIndex((one) => alters(one, column, what))
    const type = index(changesType)
    if (type >= 0 && dropsDefault.test(action.sql)) move(action, (at) => Math.min(at, type))
    else if (type >= 0 && followsType.test(action.sql)) move(action, (at) => Math.max(at, type + 1))
    if (gainsIdentity.test(action.sql)) move(action, (at) => Math.max(at, index(precedesIdentity) + 1))
  }
  return sorted
}

const textsIn = (value: unknown): ReadonlyArray<string> | undefined =>
  Array.isArray(value) ? value.map(String) : undefined

/** Whether an enum is made again, because values go or change places; only new ones can be added to it. */
const losesValues = (values: ReadonlyArray<string>, wanted: ReadonlyArray<string>) =>
  JSON.stringify(wanted.filter((value) => values.includes(value))) !== JSON.stringify(values)

/**
 * The schema between both, which lacks what PostgreSQL or the library can't change in place: what uses a column whose type
 * changes, tables that are partitioned otherwise, and comments and grants of enums that lose values. The second half of the statements makes them again. It is the source
 * if there are none.
 */
export const between = (source: FactBase, desired: FactBase): FactBase => {
  const roots = source.facts().flatMap(({ id, payload }): ReadonlyArray<StableId> => {
    const wanted = desired.get(id)?.payload
    if (wanted === undefined) return []
    if (id.kind === "table") {
      return ofTable.some((name) => JSON.stringify(wanted[name]) !== JSON.stringify(payload[name])) ? [id] : []
    }
    const [values, later] = [textsIn(payload["values"]), textsIn(wanted["values"])]
    if (id.kind === "type" && values !== undefined && later !== undefined) {
      return losesValues(values, later) ? source.childrenOf(id).map((child) => child.id) : []
    }
    if (id.kind !== "column" || wanted["type"] === payload["type"]) return []
    const table = source.get({ kind: "table", schema: id.schema, name: id.table })
    if (table !== undefined && partitionsBy(table, id.name)) return [table.id]
    return source
      .incomingEdges(id)
      .flatMap(({ from }) => (hindersType.has(from.kind) && encodeId(from) !== encodeId(id) ? [from] : []))
  })
  const closure = roots.length === 0 ? undefined : closureOf(source, roots)
  if (closure === undefined) return source
  return without(source, closure)
}

/** What can be dropped before, and made after, all that it uses. */
const isLeaf = ({ id: { kind }, payload }: Fact) =>
  ["default", "policy", "trigger", "rule"].includes(kind) ||
  (kind === "constraint" && (payload["type"] === "c" || payload["type"] === "f"))

/** A schema without the leaves that another one lacks: so the statements of circles, such as a default that reads its table, have an order. */
export const withoutLeaves = (facts: FactBase, others: FactBase): FactBase => {
  const leaves = facts.facts().filter((fact) => isLeaf(fact) && !others.has(fact.id))
  const closure =
    leaves.length === 0
      ? undefined
      : closureOf(
          facts,
          leaves.map(({ id }) => id)
        )
  return closure === undefined ? facts : without(facts, closure)
}

const ofTypes: ReadonlySet<string> = new Set(["type", "typeAttribute", "domain"])

/** The desired schema with the types of the source, and what was left of it: some types that are in use can't be changed. */
export const withTypesOf = (source: FactBase, desired: FactBase) => {
  const left: Array<StableId> = []
  const facts = desired.facts().map((fact) => {
    const here = source.get(fact.id)
    if (here === undefined || !ofTypes.has(fact.id.kind) || source.hashOf(fact.id) === desired.hashOf(fact.id))
      return fact
    left.push(fact.id)
    return here
  })
  return { desired: buildFactBase(facts, [...desired.edges]), left }
}
