import { Schema } from "effect"
import { type ColumnPairs, type KeyRelationship, type RelationName, type Relationship } from "./Relationship.ts"
import { type ColumnOf, viewColumns } from "./ViewColumns.ts"

const Name = Schema.Struct({ schema: Schema.String, name: Schema.String })
const Numbers = Schema.Array(Schema.Int)

/** Keys, views and functions of rows, from the catalogue query (RelationshipSql.ts). */
export const RelationshipRows = Schema.Struct({
  keys: Schema.Array(
    Schema.Struct({
      kind: Schema.Literals(["p", "f"]),
      name: Schema.String,
      of: Schema.Int,
      columns: Numbers,
      to: Schema.NullOr(Schema.Int),
      to_columns: Schema.NullOr(Numbers),
      /** Whether the columns of a foreign key are also unique. */
      one: Schema.Boolean
    })
  ),
  keyed: Schema.Array(
    Schema.Struct({
      oid: Schema.Int,
      schema: Schema.String,
      name: Schema.String,
      columns: Schema.Record(Schema.String, Schema.String)
    })
  ),
  views: Schema.Array(Schema.Struct({ oid: Schema.Int, tree: Schema.String })),
  computed: Schema.Array(
    Schema.Struct({
      schema: Schema.String,
      name: Schema.String,
      from: Name,
      to: Name,
      single: Schema.Boolean
    })
  )
})
export type RelationshipRows = typeof RelationshipRows.Type

type Keyed = RelationshipRows["keyed"][number]

/** A relation with certain columns of a table: the table itself, or a view. `columns` are its names for them. */
interface Provider {
  readonly relation: Keyed
  readonly columns: ReadonlyArray<string>
}

const pairs = (near: ReadonlyArray<string>, far: ReadonlyArray<string>): ColumnPairs =>
  near.map((name, at) => [name, far[at] ?? ""])

/** Limits the combinations for a view that has a column many times. */
const maxCombinations = 32

/** The relations that provide a table's columns: the table itself and views. */
class Providers {
  private readonly byOid = new Map<number, Keyed>()
  /** Views by table, with the numbers under which they have its columns. */
  private readonly viewsOf = new Map<number, Array<{ readonly view: Keyed; readonly at: Map<number, Array<number>> }>>()

  constructor({ keyed, views }: RelationshipRows) {
    for (const relation of keyed) this.byOid.set(relation.oid, relation)
    const direct = new Map(views.map(({ oid, tree }) => [oid, viewColumns(tree)]))
    for (const view of keyed) {
      const columns = direct.get(view.oid)
      if (columns === undefined) continue
      const tables = new Map<number, Map<number, Array<number>>>()
      for (const [number, one] of columns) {
        const source = root(direct, one)
        if (source === undefined) continue
        const { column, of } = source
        const at = tables.get(of) ?? new Map<number, Array<number>>()
        tables.set(of, at)
        at.set(column, [...(at.get(column) ?? []), number])
      }
      for (const [table, at] of tables) this.viewsOf.set(table, [...(this.viewsOf.get(table) ?? []), { view, at }])
    }
  }

  columns(relation: Keyed, numbers: ReadonlyArray<number>) {
    return numbers.map((number) => relation.columns[number] ?? "")
  }

  /** The relations that provide all of these columns of a table. */
  of(table: number, numbers: ReadonlyArray<number>): ReadonlyArray<Provider> {
    const relation = this.byOid.get(table)
    if (relation === undefined) return []
    const seen: Array<Provider> = [{ relation, columns: this.columns(relation, numbers) }]
    for (const { at, view } of this.viewsOf.get(table) ?? []) {
      for (const chosen of combinations(numbers.map((number) => at.get(number) ?? []))) {
        seen.push({ relation: view, columns: this.columns(view, chosen) })
      }
    }
    return seen
  }
}

/** Follows a column through views of views to its table. Undefined if the views select from each other in a cycle. */
const root = (direct: ReadonlyMap<number, ReadonlyMap<number, ColumnOf>>, start: ColumnOf): ColumnOf | undefined => {
  const seen = new Set<ColumnOf>()
  let one = start
  while (!seen.has(one)) {
    seen.add(one)
    const next = direct.get(one.of)?.get(one.column)
    if (next === undefined) return one
    one = next
  }
  return undefined
}

const combinations = (choices: ReadonlyArray<ReadonlyArray<number>>): ReadonlyArray<ReadonlyArray<number>> =>
  choices.reduce<ReadonlyArray<ReadonlyArray<number>>>(
    (all, some) => all.flatMap((before) => some.map((one) => [...before, one])).slice(0, maxCombinations),
    [[]]
  )

/** Relationships by relation. */
export interface Relationships {
  /** The relationships in an order that depends only on names. */
  readonly from: (relation: RelationName) => ReadonlyArray<Relationship>
  /** The primary key; of a view, those of the tables it selects from; empty if there is none. */
  readonly primaryKey: (relation: RelationName) => ReadonlyArray<string>
}

const nameKey = ({ name, schema }: RelationName) => `${schema}\0${name}`
const named = ({ name, schema }: RelationName): RelationName => ({ schema, name })

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

/** `reachable`: whether a relation can be embedded, or be the junction of an embed. */
export const makeRelationships = (
  rows: RelationshipRows,
  reachable: (relation: RelationName) => boolean
): Relationships => {
  const providers = new Providers(rows)
  const primary = new Map(rows.keys.flatMap((key) => (key.kind === "p" ? [[key.of, key.columns] as const] : [])))
  const index = new Map<string, Array<Relationship>>()
  const add = (relationship: Relationship) => {
    if (!reachable(relationship.from) || !reachable(relationship.to)) return
    const key = nameKey(relationship.from)
    const all = index.get(key)
    if (all === undefined) index.set(key, [relationship])
    else all.push(relationship)
  }

  const foreign = rows.keys
    .flatMap((key) =>
      key.kind === "f" && key.to !== null ? [{ ...key, to: key.to, toColumns: key.to_columns ?? [] }] : []
    )
    .sort((one, other) => compare(one.name, other.name) || one.of - other.of)

  /** Relationships by foreign keys, by the oid of the relation that has the key. */
  const byHolder = new Map<number, Array<KeyRelationship & { readonly inPrimary: boolean }>>()
  for (const key of foreign) {
    const primaryKey = primary.get(key.of)
    const inPrimary = primaryKey !== undefined && key.columns.every((column) => primaryKey.includes(column))
    const targets = providers.of(key.to, key.toColumns)
    for (const holder of providers.of(key.of, key.columns)) {
      for (const target of targets) {
        const common = { _tag: "Key", constraint: key.name, junction: undefined } as const
        const there = {
          ...common,
          from: named(holder.relation),
          to: named(target.relation),
          cardinality: key.one ? "one-to-one" : "many-to-one",
          holdsKey: true,
          columns: pairs(holder.columns, target.columns)
        } as const
        add(there)
        add({
          ...common,
          from: there.to,
          to: there.from,
          cardinality: key.one ? "one-to-one" : "one-to-many",
          holdsKey: false,
          columns: pairs(target.columns, holder.columns)
        })
        const of = byHolder.get(holder.relation.oid)
        if (of === undefined) byHolder.set(holder.relation.oid, [{ ...there, inPrimary }])
        else of.push({ ...there, inPrimary })
      }
    }
  }

  // A relation whose primary key contains the columns of two foreign keys is a junction of their targets.
  for (const keys of byHolder.values()) {
    for (const near of keys) {
      for (const far of keys) {
        if (near.constraint === far.constraint || !near.inPrimary || !far.inPrimary) continue
        // Errors name junctions, so those of other schemas stay unknown to callers.
        if (!reachable(near.from)) continue
        add({
          _tag: "Key",
          from: near.to,
          to: far.to,
          cardinality: "many-to-many",
          holdsKey: false,
          constraint: near.constraint,
          columns: near.columns.map(([junction, from]) => [from, junction]),
          junction: { relation: near.from, constraint: far.constraint, columns: far.columns }
        })
      }
    }
  }

  for (const { from, name, schema, single, to } of rows.computed) {
    add({ _tag: "Computed", from, to, function: { schema, name }, single })
  }

  const primaryKeys = new Map<string, ReadonlyArray<string>>()
  for (const [table, columns] of primary) {
    const met = new Set<number>()
    for (const { columns: names, relation } of providers.of(table, columns)) {
      // A view that has a table's key twice counts it once; one with the keys of two tables has both.
      if (met.has(relation.oid)) continue
      met.add(relation.oid)
      primaryKeys.set(nameKey(relation), [...(primaryKeys.get(nameKey(relation)) ?? []), ...names])
    }
  }

  return {
    from: (relation) => index.get(nameKey(relation)) ?? [],
    primaryKey: (relation) => primaryKeys.get(nameKey(relation)) ?? []
  }
}
