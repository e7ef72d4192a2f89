import { type FactBase, type StableId } from "@supabase/pg-delta/core"
import { type Action, plan, type Plan } from "@supabase/pg-delta/plan"
import { type Policy } from "@supabase/pg-delta/policy"
import { logPublication } from "../../changes/LogSql.ts"
import { quoteName } from "../../sql/Names.ts"
import { unchangedKinds } from "./Alignment.ts"
import { between, correctedOrder, correctedSql, withoutLeaves, withTypesOf } from "./Corrections.ts"
import { type SchemaStatement, type SchemaWarning } from "./SchemaDifference.ts"

/** Schemas that only the service changes. */
const ownSchemas = ["svc", "svc_ddl"]
/** Schemas with objects of the service, which its upgrades change; a user may add policies and triggers to their tables. */
const givenSchemas = ["auth", "storage", "realtime", "pgmq", "pgmq_public", "cron", "pooler"]

const inSchemas = (names: ReadonlyArray<string>) => ({
  any: [{ schema: [...names] }, { all: [{ kind: "schema" }, { name: [...names] }] }, { target: { schema: [...names] } }]
})
const callsOwn = { any: [...ownSchemas, ...givenSchemas].map((schema) => ({ edgeTo: { kind: "function", schema } })) }
const addedByUsers = { any: [{ kind: "policy" }, { all: [{ kind: "trigger" }, { not: callsOwn }] }] }

const policy: Policy = {
  id: "svc",
  filter: [
    { match: { kind: unchangedKinds.filter((kind) => kind !== "role") }, action: "exclude" },
    { match: inSchemas(ownSchemas), action: "exclude" },
    { match: { all: [{ kind: "publication" }, { name: logPublication }] }, action: "exclude" },
    { match: { all: [inSchemas(givenSchemas), { not: addedByUsers }] }, action: "exclude" }
  ],
  assumedSchemas: givenSchemas
}

const rolesOf = (facts: FactBase) => facts.facts().flatMap(({ id }) => (id.kind === "role" ? [id.name] : []))

const planned = (source: FactBase, desired: FactBase): Plan =>
  plan(source, desired, {
    policy,
    scope: "database",
    renames: "prompt",
    assumedRoles: [...rolesOf(source), ...rolesOf(desired)]
  })

/** Plans from one schema to the next. */
const through = (...schemas: ReadonlyArray<FactBase>): ReadonlyArray<Plan> =>
  schemas.flatMap((schema, at) => {
    const before = schemas[at - 1]
    return before === undefined || before === schema ? [] : [planned(before, schema)]
  })

const attempt = <A>(make: () => A): A | Error => {
  try {
    return make()
  } catch (cause) {
    return cause instanceof Error ? cause : new Error(String(cause))
  }
}

/** The plans, by way of what the library can order. Throws its error if there is no way. */
const plansOf = (source: FactBase, desired: FactBase) => {
  const middle = between(source, desired)
  const made = attempt(() => through(source, middle, desired))
  if (!(made instanceof Error)) return { plans: made, left: [], reason: "" }
  const parted = attempt(() =>
    through(source, middle, withoutLeaves(middle, desired), withoutLeaves(desired, middle), desired)
  )
  if (!(parted instanceof Error)) return { plans: parted, left: [], reason: "" }
  const { desired: reduced, left } = withTypesOf(source, desired)
  if (left.length === 0) throw made
  return { plans: through(source, between(source, reduced), reduced), left, reason: made.message }
}

/** Names a schema: all that `schemaStatements` compares. */
export const schemaFingerprint = (source: FactBase) => planned(source, source).source.fingerprint

const kindNames: Partial<Record<StableId["kind"], string>> = {
  materializedView: "materialized view",
  foreignTable: "foreign table",
  typeAttribute: "attribute",
  publicationRel: "publication",
  publicationSchema: "publication",
  acl: "grant",
  defaultPrivilege: "default privilege",
  securityLabel: "security label",
  eventTrigger: "event trigger",
  fdw: "foreign data wrapper"
}
export const kindName = ({ kind }: StableId): string => kindNames[kind] ?? kind

/** The name of an object, for people: not quoted. */
export const objectName = (id: StableId): string => {
  switch (id.kind) {
    case "comment":
    case "securityLabel":
      return objectName(id.target)
    case "acl":
      return `${objectName(id.target)}${id.column === undefined ? "" : `.${id.column}`} to ${id.grantee}`
    case "defaultPrivilege":
      return `${id.schema ?? "all schemas"} to ${id.grantee}`
    case "publicationRel":
      return `${id.publication}: ${id.schema}.${id.table}`
    case "publicationSchema":
      return `${id.publication}: ${id.schema}`
    case "typeAttribute":
      return `${id.schema}.${id.type}.${id.name}`
    case "function":
    case "procedure":
    case "aggregate":
      return `${id.schema}.${id.name}(${id.args.join(", ")})`
    case "membership":
      return `${id.member} in ${id.role}`
    case "userMapping":
      return `${id.server} for ${id.role}`
    case "extensionIntent":
      return id.key
    default: {
      const parts = ["schema" in id ? id.schema : undefined, "table" in id ? id.table : undefined, id.name]
      return parts.filter((part) => part !== undefined).join(".")
    }
  }
}

const subjectOf = ({ consumes, destroys, produces }: Action): StableId | undefined =>
  produces[0] ?? destroys[0] ?? consumes[0]

/** Schemas, then what new objects are granted by default, so that objects are created as they would be afterwards. */
const rankOf = (action: Action) => {
  const subject = subjectOf(action)
  if (subject?.kind === "schema" && action.verb === "create" && action.produces[0]?.kind === "schema") return 0
  return subject?.kind === "defaultPrivilege" ? 1 : 2
}

const addsValue = ({ transactionality }: Action) => transactionality === "commitBoundaryAfter"
/** The value that a statement adds to an enum, as a literal. */
const addedValue = ({ sql }: Action) => /ADD VALUE ('(?:[^']|'')*')/.exec(sql)?.[1]

const isGrant = /^(?:GRANT|REVOKE) /

/** Types of which each holds all values of those before. */
const widening = ["smallint", "integer", "bigint", "numeric", "text"]

/** What fails or changes values depending on the rows that are there. */
const dependingOnRows = (source: FactBase, actions: ReadonlyArray<Action>): ReadonlyArray<SchemaWarning> =>
  actions.flatMap((action) => {
    const id = subjectOf(action)
    if (id?.kind !== "column") return []
    const given = { code: "DATA_DEPENDS" as const, kind: "column", object: objectName(id) }
    const there = source.get(id)
    const [, type] = / ALTER COLUMN .* TYPE (.*) USING /s.exec(action.sql) ?? []
    if (type !== undefined && there !== undefined) {
      const [before, after] = [String(there.payload["type"]), type]
      const widens = widening.includes(before) && widening.indexOf(after) > widening.indexOf(before)
      if (widens || after === "text") return []
      return [
        {
          ...given,
          message: `The column ${given.object} changes from ${before} to ${after}: that fails, or loses digits or characters, where a value does not fit. Edit the expression after USING if another one is meant`
        }
      ]
    }
    const hasTable = source.has({ kind: "table", schema: id.schema, name: id.table })
    const isRequired = / ADD COLUMN .* NOT NULL$/s.test(action.sql) && !/ (?:DEFAULT|GENERATED) /.test(action.sql)
    if (there !== undefined || !hasTable || !isRequired) return []
    return [
      {
        ...given,
        message: `The new column ${given.object} has no default and must not be null, which fails if the table has rows`
      }
    ]
  })

/** The semicolon that `pg_get_viewdef` and some others add is once enough. */
const ended = (sql: string) => `${correctedSql(sql).trimEnd().replace(/;+$/, "").trimEnd()};`

interface Planned {
  readonly fingerprint: string
  readonly statements: ReadonlyArray<SchemaStatement>
  readonly warnings: ReadonlyArray<SchemaWarning>
  /** Settings that the statements need. */
  readonly settings: ReadonlyArray<string>
}

/**
 * The statements that make of `source` what `desired` is, in an order in which they run. Values of enums come first, because the
 * library does not see which expressions use them; those that are used have to be committed before.
 */
export const schemaStatements = (source: FactBase, desired: FactBase, role: string): Planned => {
  const { left, plans, reason } = plansOf(source, desired)
  // The role that runs the statements owns what they create.
  const given = ` OWNER TO ${quoteName(role)}`
  const actions = plans
    .flatMap((made) => correctedOrder(made.actions))
    .filter(({ sql, verb }) => verb !== "alter" || !sql.endsWith(given))
  const values = actions.filter(addsValue)
  const others = actions.filter((action) => !addsValue(action)).toSorted((a, b) => rankOf(a) - rankOf(b))
  const isUsed = values.some((value) => {
    const literal = addedValue(value)
    return literal === undefined || others.some(({ sql }) => sql.includes(literal))
  })
  const statementOf =
    (transaction: number) =>
    (action: Action): SchemaStatement => {
      const subject = subjectOf(action)
      const sql = ended(action.sql)
      return {
        sql,
        verb: action.verb,
        kind: isGrant.test(sql) || subject === undefined ? "grant" : kindName(subject),
        object: subject === undefined ? "" : objectName(subject),
        destructive: action.dataLoss === "destructive",
        rewrites:
          action.rewriteRisk && !(action.verb === "create" && subject?.kind === "table") && !/\) VIRTUAL\b/.test(sql),
        transaction
      }
    }
  const renamed = plans.flatMap((made) => made.renameCandidates).filter(({ status }) => status !== "nearMiss")
  return {
    fingerprint: plans[0]?.source.fingerprint ?? schemaFingerprint(source),
    statements: [...values.map(statementOf(1)), ...others.map(statementOf(isUsed ? 2 : 1))],
    settings: Array.from(
      new Set(plans.flatMap((made) => made.preamble.map(({ name, value }) => `set local ${name} = ${value};`)))
    ),
    warnings: [
      ...left.map((id) => ({
        code: "NOT_COVERED" as const,
        kind: kindName(id),
        object: objectName(id),
        message: `The ${kindName(id)} ${objectName(id)} differs and is in use, so no statement changes it: ${reason}`
      })),
      ...dependingOnRows(source, actions),
      ...renamed.map(({ from, to }) => ({
        code: "RENAMED" as const,
        kind: kindName(from),
        object: objectName(from),
        message: `The ${kindName(from)} ${objectName(from)} is dropped and ${objectName(to)} is created with the same definition. If it was renamed, use ALTER … RENAME instead: a drop deletes what is in it`
      }))
    ]
  }
}
