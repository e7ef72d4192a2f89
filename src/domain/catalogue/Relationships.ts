import { Schema } from "effect"
import { type ColumnPairs, type KeyRelationship, type RelationName, type Relationship } from "./Relationship.ts"
import { type ColumnOf, viewColumns } from "./ViewColumns.ts"

const Name = Schema.Struct({ schema: Schema.String, name: Schema.String })
const Numbers = Schema.Array(Schema.Int)

/** What the catalogue query tells of keys, views and functions of rows (domain/RelationshipSql.ts). */
export const RelationshipRows = Schema.Struct({
  keys: Schema.Array(
    Schema.Struct({
      kind: Schema.Literals(["p", "f"]),
      name: Schema.String,
      of: Schema.Int,
      columns: Numbers,
      to: Schema.NullOr(Schema.Int),
      to_columns: Schema.NullOr(Numbers),
      /** Of a foreign key: its columns are unique too. */
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

/** A relation that shows certain columns of a table: the table itself, or a view. `columns` are its own names for them. */
interface Seen {
  readonly relation: Keyed
  readonly columns: ReadonlyArray<string>
}

const pairs = (near: ReadonlyArray<string>, far: ReadonlyArray<string>): ColumnPairs =>
  near.map((name, at) => [name, far[at] ?? ""])

/** A view that shows a column many times is not looked at in every combination. */
const mostWays = 32

/** Every way in which a table's columns are seen: as they are, and through views. */
class Sight {
  private readonly byOid = new Map<number, Keyed>()
  /** By table: the views, and under which numbers they have which of its columns. */
  private readonly viewsOf = new Map<number, Array<{ readonly view: Keyed; readonly at: Map<number, Array<number>> }>>()

  constructor({ keyed, views }: RelationshipRows) {
    for (const relation of keyed) this.byOid.set(relation.oid, relation)
    const direct = new Map(views.map(({ oid, tree }) => [oid, viewColumns(tree)]))
    for (const view of keyed) {
      const columns = direct.get(view.oid)
      if (columns === undefined) continue
      const tables = new Map<number, Map<number, Array<number>>>()
      for (const [number, one] of columns) {
        const { column, of } = root(direct, one)
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

  /** Of all of these columns of a table. */
  ways(table: number, numbers: ReadonlyArray<number>): ReadonlyArray<Seen> {
    const relation = this.byOid.get(table)
    if (relation === undefined) return []
    const seen: Array<Seen> = [{ relation, columns: this.columns(relation, numbers) }]
    for (const { at, view } of this.viewsOf.get(table) ?? []) {
      for (const chosen of combinations(numbers.map((number) => at.get(number) ?? []))) {
        seen.push({ relation: view, columns: this.columns(view, chosen) })
      }
    }
    return seen
  }
}

/** Through views of views. */
const root = (direct: ReadonlyMap<number, ReadonlyMap<number, ColumnOf>>, start: ColumnOf): ColumnOf => {
  let one = start
  for (;;) {
    const next = direct.get(one.of)?.get(one.column)
    if (next === undefined) return one
    one = next
  }
}

const combinations = (choices: ReadonlyArray<ReadonlyArray<number>>): ReadonlyArray<ReadonlyArray<number>> =>
  choices.reduce<ReadonlyArray<ReadonlyArray<number>>>(
    (all, some) => all.flatMap((before) => some.map((one) => [...before, one])).slice(0, mostWays),
    [[]]
  )

/** What rows lead to, by the relation they are of. */
export interface Relationships {
  /** In an order that depends on names alone. */
  readonly from: (relation: RelationName) => ReadonlyArray<Relationship>
  /** Primary keys, those of views by the tables they show; empty when there is none. */
  readonly primaryKey: (relation: RelationName) => ReadonlyArray<string>
}

const nameKey = ({ name, schema }: RelationName) => `${schema}\0${name}`
const named = ({ name, schema }: RelationName): RelationName => ({ schema, name })

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

/** `exposed`: whether relations of a schema can be embedded; junctions may be anywhere. */
export const makeRelationships = (rows: RelationshipRows, exposed: (schema: string) => boolean): Relationships => {
  const sight = new Sight(rows)
  const primary = new Map(rows.keys.flatMap((key) => (key.kind === "p" ? [[key.of, key.columns] as const] : [])))
  const index = new Map<string, Array<Relationship>>()
  const add = (relationship: Relationship) => {
    if (!exposed(relationship.from.schema) || !exposed(relationship.to.schema)) return
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

  /** From relations that have the key's columns to relations that have what it refers to. */
  const held = new Map<number, Array<KeyRelationship & { readonly inPrimary: boolean }>>()
  for (const key of foreign) {
    const primaryKey = primary.get(key.of)
    const inPrimary = primaryKey !== undefined && key.columns.every((column) => primaryKey.includes(column))
    const targets = sight.ways(key.to, key.toColumns)
    for (const holder of sight.ways(key.of, key.columns)) {
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
        const of = held.get(holder.relation.oid)
        if (of === undefined) held.set(holder.relation.oid, [{ ...there, inPrimary }])
        else of.push({ ...there, inPrimary })
      }
    }
  }

  // A relation whose primary key has the columns of two foreign keys joins what they refer to.
  for (const keys of held.values()) {
    for (const near of keys) {
      for (const far of keys) {
        if (near.constraint === far.constraint || !near.inPrimary || !far.inPrimary) continue
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
    for (const { columns: names, relation } of sight.ways(table, columns)) {
      // A view that shows the key twice has it once, one that shows the keys of two tables has both.
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
