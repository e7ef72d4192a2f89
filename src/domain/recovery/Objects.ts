/**
 * The objects of an embedded store in an archive, as of any time: `objects/rows/<store>/<id>/` has all rows of its index at
 * one position, `objects/changes/<store>/` all changes in order, and `objects/data/` the bytes of blobs in packs. Rows and
 * changes name the packs of their blobs. A store is one index: a recovered one begins another.
 */
const folder = "objects/"
export const rowsFolder = `${folder}rows/`
export const changesFolder = `${folder}changes/`
export const dataFolder = `${folder}data/`

/** Bytes of a blob or pack in one object of the archive. */
export const packPartBytes = 8 * 1024 * 1024
/** A blob from this size on has a pack of its own. */
export const ownPackBytes = 1024 * 1024

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0")

/** The rows of a store, of which `rows.json` is written last. */
export interface StoredRows {
  readonly id: string
  readonly store: string
  /** The position before the first row was read, and one behind all changes that the rows may have. */
  readonly from: number
  readonly to: number
  /** All changes in the rows were made until then, in ms since 1970. */
  readonly at: number
  readonly pages: number
  readonly packs: ReadonlyArray<string>
}

const rowsPlace = (store: string, id: string) => `${rowsFolder}${store}/${id}/`
export const rowsFile = (store: string, id: string) => `${rowsPlace(store, id)}rows.json`
export const rowsPage = (store: string, id: string, page: number) =>
  `${rowsPlace(store, id)}${String(page).padStart(6, "0")}`

/** The store and the id in the name of an object below `rowsFolder`. */
export const parseRowsName = (name: string): { readonly store: string; readonly id: string } | undefined => {
  const [, store, id] = /^objects\/rows\/([0-9a-f]+)\/([^/]+)\//.exec(name) ?? []
  return store === undefined || id === undefined ? undefined : { store, id }
}

/** Changes behind position `from` up to `to`; all that were made until `until` are in it or before it. */
export interface ChangePiece {
  readonly name: string
  readonly store: string
  readonly from: number
  readonly to: number
  readonly until: number
}

export const changesName = ({ from, store, to, until }: Omit<ChangePiece, "name">) =>
  `${changesFolder}${store}/${hex(from, 14)}-${hex(to, 14)}.${String(until).padStart(13, "0")}`

export const parseChangesName = (name: string): ChangePiece | undefined => {
  const found = /^objects\/changes\/([0-9a-f]+)\/([0-9a-f]{14})-([0-9a-f]{14})\.(\d{13})$/.exec(name)
  if (found === null) return undefined
  const [, store = "", from = "", to = "", until = ""] = found
  return { name, store, from: Number.parseInt(from, 16), to: Number.parseInt(to, 16), until: Number(until) }
}

/** The pieces of a store from a position on, without a gap and without those that longer ones replace. */
export const changesFrom = (pieces: ReadonlyArray<ChangePiece>, from: number): ReadonlyArray<ChangePiece> => {
  const sorted = pieces
    .filter(({ to }) => to >= from)
    .sort((a, b) => a.from - b.from || b.to - a.to || b.until - a.until)
  const chosen: Array<ChangePiece> = []
  let [reached, until] = [from, 0]
  for (const piece of sorted) {
    if (piece.from > reached) break
    // A piece without changes says that there were none until then.
    if (piece.to < reached || (piece.to === reached && piece.until <= until)) continue
    chosen.push(piece)
    reached = piece.to
    until = Math.max(until, piece.until)
  }
  return chosen
}

/** A pack's name says which store made it at which position, and its size. */
export interface PackName {
  readonly store: string
  readonly position: number
  readonly size: number
}

export const packName = ({ position, size, store }: PackName, random: string) =>
  `${store}.${hex(position, 14)}.${random}.${hex(size, 1)}`

export const parsePackName = (pack: string): PackName | undefined => {
  const [, store, position = "", size = ""] = /^([0-9a-f]+)\.([0-9a-f]{14})\.[0-9a-f]+\.([0-9a-f]+)$/.exec(pack) ?? []
  if (store === undefined) return undefined
  return { store, position: Number.parseInt(position, 16), size: Number.parseInt(size, 16) }
}

export const packPart = (pack: string, part: number) => `${dataFolder}${pack}.${String(part).padStart(6, "0")}`
export const packOfPart = (name: string) => name.slice(dataFolder.length, -7)

/** A state of the objects, and the pieces of changes that lead from its rows to it. */
export interface ObjectsThen {
  readonly rows: StoredRows
  readonly pieces: ReadonlyArray<ChangePiece>
  /** Everything until then is known. */
  readonly until: number
}

/**
 * The objects as of a time, in ms since 1970; undefined if the archive has none. Between stores that both know the time, and for
 * one that ends before it, the rows that are the latest count.
 */
export const objectsAt = (
  all: ReadonlyArray<StoredRows>,
  pieces: ReadonlyArray<ChangePiece>,
  time: number
): ObjectsThen | undefined => {
  const rows = all
    .filter(({ at }) => at <= time)
    .reduce<StoredRows | undefined>((best, one) => (best === undefined || one.at >= best.at ? one : best), undefined)
  if (rows === undefined) return undefined
  const found = changesFrom(
    pieces.filter(({ store }) => store === rows.store),
    rows.from
  )
  return { rows, pieces: found, until: Math.max(rows.at, found.at(-1)?.until ?? 0) }
}

/** What no state of the last `keep` ms needs: rows, pieces of changes, and packs. */
export const outdatedObjects = (
  {
    pieces,
    rows,
    packs
  }: {
    readonly rows: ReadonlyArray<StoredRows>
    readonly pieces: ReadonlyArray<ChangePiece>
    readonly packs: ReadonlyArray<string>
  },
  current: string,
  before: number
) => {
  const stores = new Set([...rows, ...pieces].map(({ store }) => store))
  const kept: Array<StoredRows> = []
  for (const store of stores) {
    const its = rows.filter((one) => one.store === store).sort((a, b) => a.at - b.at)
    const ends = pieces.flatMap((piece) => (piece.store === store ? [piece.until] : []))
    const last = Math.max(its.at(-1)?.at ?? 0, ...ends.slice(-1))
    if (store !== current && last < before) continue
    const first = its.findLastIndex(({ at }) => at <= before)
    kept.push(...its.slice(Math.max(0, first)))
  }
  const firstOf = new Map<string, StoredRows>()
  for (const one of kept.toReversed()) firstOf.set(one.store, one)
  const needed = new Set([...firstOf.values()].flatMap(({ packs }) => packs))
  return {
    rows: rows.filter((one) => !kept.includes(one)),
    pieces: pieces.filter(({ store, to }) => {
      const first = firstOf.get(store)
      return first === undefined ? store !== current : to < first.from
    }),
    // What a later change or later rows have is in a later pack, or in one that the first rows have.
    packs: packs.filter((pack) => {
      const name = parsePackName(pack)
      if (name === undefined || needed.has(pack)) return false
      const first = firstOf.get(name.store)
      return first === undefined ? name.store !== current : name.position < first.from
    })
  }
}
