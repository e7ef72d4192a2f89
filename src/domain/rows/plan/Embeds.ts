import { Result } from "effect"
import { type Catalogue } from "../../catalogue/Catalogue.ts"
import { DatabaseError, InvalidRequest } from "../../errors.ts"
import { type KeyRelationship, type RelationName, type Relationship } from "../../catalogue/Relationship.ts"
import { type Embed } from "../parse/Query.ts"
import { similarNames } from "../../text/SimilarNames.ts"

/**
 * Resolves an embed by PostgREST's rules: its name is that of a relation, a foreign key, the column with the foreign
 * key, or a computed relationship; a hint is a foreign key, a column of either side, or a junction. No match is
 * PGRST200; several matches are PGRST201 (300), which lists them.
 */
export const findRelationship = (
  catalogue: Catalogue,
  from: RelationName,
  { relation: target, hint }: Pick<Embed, "relation" | "hint">
): Result.Result<Relationship, InvalidRequest | DatabaseError> => {
  const all = catalogue.relationships(from).filter(({ to }) => to.schema === from.schema)
  // A function of this name takes precedence over keys with the same name.
  const computed = all.find((one) => one._tag === "Computed" && one.function.name === target)
  if (computed !== undefined) return Result.succeed(computed)
  const keys = all.filter((one) => one._tag === "Key")
  const exact = keys.filter((one) => meant(catalogue, one, target, hint))
  const found = exact.length > 0 ? exact : keys.filter((one) => isSelf(one) && meantOfSelf(one, target, hint))
  const [only] = found
  // Both directions of a reference to the same table have its constraint, so that as a hint it chooses none.
  const undecided = hint !== undefined && found.length > 1 && found.every((one) => isSelf(one) && keyName(one) === hint)
  if (only === undefined || undecided) return Result.fail(none(catalogue, from, target, hint, all))
  return found.length === 1 ? Result.succeed(only) : Result.fail(several(from, target, found))
}

const isSelf = ({ from, to }: KeyRelationship) => from.schema === to.schema && from.name === to.name

const only = <A>(list: ReadonlyArray<A>) => (list.length === 1 ? list[0] : undefined)

/** The only column of each side. A junction has other columns. */
const columnHere = ({ columns, junction }: KeyRelationship) => (junction ? undefined : only(columns)?.[0])
const columnThere = ({ columns, junction }: KeyRelationship) => (junction ? undefined : only(columns)?.[1])
const keyName = ({ constraint, junction }: KeyRelationship) => (junction ? undefined : constraint)

const meant = (catalogue: Catalogue, one: KeyRelationship, target: string, hint: string | undefined) => {
  const named = target === one.to.name
  if (isSelf(one)) {
    if (hint !== undefined) return named && one.cardinality === "one-to-many" && columnThere(one) === hint
    // The table's name means the rows that reference this one, the column's name the row that it references.
    return one.cardinality === "one-to-many" ? named : one.cardinality === "many-to-one" && columnHere(one) === target
  }
  if (hint !== undefined) {
    return (
      named &&
      (keyName(one) === hint ||
        columnHere(one) === hint ||
        columnThere(one) === hint ||
        one.junction?.relation.name === hint)
    )
  }
  if (named) return true
  if (keyName(one) !== target && columnHere(one) !== target) return false
  const kind = catalogue.relation(one.to.schema, one.to.name)?.kind
  return kind !== "view" && kind !== "materialized"
}

/** The remaining ways to name a table's relationship to itself: its key, its junction, or a one-to-one key. */
const meantOfSelf = (one: KeyRelationship, target: string, hint: string | undefined) => {
  const names = [keyName(one), columnHere(one), one.junction?.relation.name]
  if (hint === undefined) return one.junction ? target === one.to.name : names.includes(target)
  return target === one.to.name && [...names, columnThere(one), one.constraint].includes(hint)
}

const none = (
  catalogue: Catalogue,
  from: RelationName,
  target: string,
  hint: string | undefined,
  all: ReadonlyArray<Relationship>
) => {
  const by = hint === undefined ? "" : ` using the hint '${hint}'`
  return new InvalidRequest({
    error: `Could not find a relationship between '${from.name}' and '${target}' in the schema cache`,
    code: "PGRST200",
    details: `Searched for a foreign key relationship between '${from.name}' and '${target}'${by} in the schema '${from.schema}', but no matches were found.`,
    hint: perhaps(catalogue, from, target, all)
  })
}

/** Suggests another target if the relation has any, else another relation to start from. */
const perhaps = (catalogue: Catalogue, from: RelationName, target: string, all: ReadonlyArray<Relationship>) => {
  if (all.length > 0) {
    const names = all.map(({ to }) => to.name)
    const [other] = names.includes(target) ? [] : similarNames(names, target)
    return other === undefined ? null : `Perhaps you meant '${other.name}' instead of '${target}'.`
  }
  const related = catalogue
    .names(from.schema)
    .filter((name) => name !== from.name && catalogue.relationships({ schema: from.schema, name }).length > 0)
  const [other] = similarNames(related, from.name)
  return other === undefined ? null : `Perhaps you meant '${other.name}' instead of '${from.name}'.`
}

const list = (names: ReadonlyArray<string>) => `(${names.join(", ")})`

const using = ({ from, to, constraint, columns, junction }: KeyRelationship) =>
  junction === undefined
    ? `${constraint} using ${from.name}${list(columns.map(([here]) => here))} and ${to.name}${list(columns.map(([, there]) => there))}`
    : `${junction.relation.name} using ${constraint}${list(columns.map(([, there]) => there))} and ${junction.constraint}${list(junction.columns.map(([here]) => here))}`

const several = (from: RelationName, target: string, found: ReadonlyArray<KeyRelationship>) => {
  const better = found.map((one) => `'${one.to.name}!${one.junction?.relation.name ?? one.constraint}'`)
  return new DatabaseError({
    status: 300,
    error: `Could not embed because more than one relationship was found for '${from.name}' and '${target}'`,
    code: "PGRST201",
    details: found.map((one) => ({
      cardinality: one.cardinality,
      embedding: `${one.from.name} with ${one.to.name}`,
      relationship: using(one)
    })),
    hint: `Try changing '${target}' to one of the following: ${better.join(", ")}. Find the desired relationship in the 'details' key.`
  })
}
