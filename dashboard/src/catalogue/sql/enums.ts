import { nameProblem, qualifiedName, textLiteral } from "../names.ts"

export interface EnumValue {
  /** Of the form. */
  readonly id: number
  /** As it is in the database; undefined: it is new. */
  readonly before: string | undefined
  readonly value: string
}

export interface EnumDraft {
  readonly schema: string
  readonly name: string
  readonly values: ReadonlyArray<EnumValue>
}

let made = 0

export const enumValue = (value = "", before?: string): EnumValue => ({ id: ++made, before, value })

export const enumProblems = ({ name, values }: EnumDraft): ReadonlyArray<string> => {
  const texts = values.map(({ value }) => value)
  return [
    ...[nameProblem(name, "The type") ?? []].flat(),
    ...(texts.length === 0 ? ["The type has no value"] : []),
    ...texts.flatMap((text) => (text === "" ? "A value is empty" : (nameProblem(text, "A value") ?? []))),
    ...Array.from(
      new Set(texts.filter((one, at) => one !== "" && texts.indexOf(one) !== at)),
      (one) => `Two values are ${one}`
    )
  ]
}

export const createEnumSql = (draft: EnumDraft) =>
  `create type ${qualifiedName(draft)} as enum (${draft.values.map(({ value }) => textLiteral(value)).join(", ")})`

type Rename = readonly [from: string, to: string]

/**
 * Renames in an order in which no value takes the name of one that still has it. Values that exchange their names go
 * through one that none has.
 */
const renamesOf = (values: ReadonlyArray<EnumValue>): ReadonlyArray<Rename> => {
  let left = values.flatMap(({ before, value }): ReadonlyArray<Rename> =>
    before === undefined || before === value ? [] : [[before, value]]
  )
  const names = new Set(values.flatMap(({ before, value }) => [value, ...(before === undefined ? [] : [before])]))
  const renames: Array<Rename> = []
  while (left.length > 0) {
    const free = left.find(([, to]) => !left.some(([from]) => from === to))
    if (free !== undefined) {
      renames.push(free)
      left = left.filter((one) => one !== free)
      continue
    }
    const [[from, to] = ["", ""], ...others] = left
    let spare = "renamed"
    for (let at = 1; names.has(spare); at++) spare = `renamed ${at}`
    names.add(spare)
    renames.push([from, spare])
    left = [...others, [spare, to]]
  }
  return renames
}

/** The statements that add and rename values. PostgreSQL can't remove or move one. */
export const alterEnumSql = (draft: EnumDraft): ReadonlyArray<string> => {
  const type = qualifiedName(draft)
  const first = draft.values.findIndex(({ before }) => before !== undefined)
  const place = (at: number) => {
    const neighbour = at > first ? draft.values[at - 1] : draft.values[first]
    return neighbour === undefined ? "" : ` ${at > first ? "after" : "before"} ${textLiteral(neighbour.value)}`
  }
  return [
    ...renamesOf(draft.values).map(
      ([from, to]) => `alter type ${type} rename value ${textLiteral(from)} to ${textLiteral(to)}`
    ),
    ...draft.values.flatMap(({ before, value }, at) =>
      before === undefined ? [`alter type ${type} add value ${textLiteral(value)}${place(at)}`] : []
    )
  ]
}

export const dropEnumSql = (type: Pick<EnumDraft, "name" | "schema">, cascade: boolean) =>
  `drop type ${qualifiedName(type)}${cascade ? " cascade" : ""}`
