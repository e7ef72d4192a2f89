import { parseRows } from "../../wire/exact.ts"
import { request } from "../../wire/request.ts"
import { isSame, isWhole, place, type Row } from "./identity.ts"
import { type Condition, equalIn, isAnchor, nameText, partsBehind, reversed } from "./keyset.ts"
import { asStored, headersOf, placedAfter, type Source, urlOf } from "./source.ts"

/** Rows of a page. */
const size = 100
/** Pages that are kept: 20,000 rows. */
const most = 200
/** ms for which a page far from those that are there must be in view: what is only passed by is not read. */
const passing = 70

/** Pages of a table by number, read as they come into view: by key beside one that is there, by offset elsewhere. */
export class Blocks {
  readonly source: Source
  private readonly pages = new Map<number, ReadonlyArray<Row>>()
  /** Rows of which some values were cut, as they were read again. */
  private readonly wholes = new WeakMap<Row, Row>()
  private readonly loading = new Map<number, AbortController>()
  private readonly listeners = new Set<() => void>()
  private timer: ReturnType<typeof setTimeout> | undefined
  private view = { first: 0, last: 0 }
  private version = 0
  length = 0
  counted: "estimated" | "exact" = "estimated"
  failure: unknown
  /** Of the last request. */
  millis = 0
  url: string

  constructor(source: Source) {
    this.source = source
    this.url = urlOf(source, { limit: size })
    void this.load(0)
  }

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
    }
  }
  readonly snapshot = () => this.version

  private readonly parse = (text: string) => parseRows(text, this.source.json)

  private changed() {
    this.version += 1
    for (const listener of this.listeners) listener()
  }

  row(index: number): Row | undefined {
    return this.pages.get(Math.floor(index / size))?.[index % size]
  }

  /** The rows that are here. */
  loaded(): Iterable<Row> {
    return Array.from(this.pages.values()).flat()
  }

  get ready() {
    return this.pages.has(0)
  }

  /** Stops reading: the page is left. */
  close() {
    clearTimeout(this.timer)
    for (const controller of this.loading.values()) controller.abort()
  }

  /** Reloads what is in view, and drops the rest. */
  async refresh() {
    const { first, last } = this.view
    for (const page of this.pages.keys()) if (page !== 0 && (page < first || page > last)) this.pages.delete(page)
    // Also what could not be read before.
    const inView = Array.from({ length: last - first + 1 }, (_, at) => first + at)
    await Promise.all(Array.from(new Set([0, ...inView]), (page) => this.load(page, true)))
  }

  /** The rows from one to before another, which are read if they are not here. */
  async rowsIn(from: number, to: number): Promise<ReadonlyArray<Row>> {
    const found: Array<Row> = []
    for (let page = Math.floor(from / size); page * size < Math.min(to, this.length); page++) {
      if (!this.pages.has(page)) await this.load(page)
      const rows = this.pages.get(page)
      if (rows === undefined) throw this.failure ?? new Error("Some rows could not be read: try again")
      found.push(...rows.slice(Math.max(0, from - page * size), Math.max(0, to - page * size)))
    }
    return found
  }

  /** Rows that are in view, up to `to`. */
  want(from: number, to: number) {
    const first = Math.max(0, Math.floor(from / size))
    const last = Math.floor(Math.max(0, to - 1) / size)
    this.view = { first, last }
    for (const [page, controller] of this.loading) {
      if (page !== 0 && (page < first - 1 || page > last + 1)) controller.abort()
    }
    const missing: Array<number> = []
    for (let page = first; page <= last; page++) if (this.lacks(page)) missing.push(page)
    clearTimeout(this.timer)
    if (missing.length === 0) {
      const next = Math.floor((to + size / 2) / size)
      if (next !== last && next * size < this.length && this.lacks(next)) void this.load(next)
      return
    }
    const beside = missing.some((page) => this.pages.has(page - 1) || this.pages.has(page + 1))
    const load = () => {
      for (const page of missing) void this.load(page)
    }
    this.timer = setTimeout(load, beside ? 0 : passing)
  }

  private lacks(page: number) {
    return !this.pages.has(page) && !this.loading.has(page)
  }

  private async ask(url: string, signal: AbortSignal, count: boolean) {
    const prefer = [count ? ["count=estimated"] : [], this.source.cut ?? []].flat().join(", ")
    const answer = await request<ReadonlyArray<Row>>(url, {
      signal,
      parse: this.parse,
      headers: { ...headersOf(this.source), ...(prefer === "" ? {} : { prefer }) }
    })
    this.millis = answer.millis
    this.url = url
    return answer
  }

  /** The rows behind the last row of a page, or before its first. */
  private async readBeside(page: ReadonlyArray<Row>, backwards: boolean, signal: AbortSignal) {
    const order = backwards ? reversed(this.source.order) : this.source.order
    const anchor = (backwards ? page[0] : page.at(-1)) ?? {}
    const rows: Array<Row> = []
    for (const part of partsBehind(order, anchor, this.source.nullable, equalIn(order, page))) {
      const { body } = await this.ask(urlOf(this.source, { part, order, limit: size - rows.length }), signal, false)
      rows.push(...body)
      if (rows.length >= size) break
    }
    return backwards ? rows.toReversed() : rows
  }

  private async readPage(page: number, byOffset: boolean, signal: AbortSignal) {
    const { order, total } = this.source
    const before = this.pages.get(page - 1) ?? []
    const after = this.pages.get(page + 1) ?? []
    const last = before.at(-1)
    const stored = asStored(this.source)
    if (total && page > 0 && !byOffset) {
      if (last !== undefined && isAnchor(order, last)) return this.readBeside(before, false, signal)
      if (after[0] !== undefined && isAnchor(order, after[0])) {
        const rows = await this.readBeside(after, true, signal)
        // Fewer rows than the guessed number of the page: only an offset says where it begins.
        if (rows.length === size) return rows
      }
    }
    const beside = stored.length > 0 && last !== undefined && !byOffset
    const part = beside ? [placedAfter(last[place])] : stored
    const { body, headers } = await this.ask(
      urlOf(this.source, { part, offset: beside ? 0 : page * size, limit: size }),
      signal,
      page === 0
    )
    if (page === 0) this.length = Math.max(body.length, Number(headers.get("content-range")?.split("/")[1]) || 0)
    return body
  }

  private async load(page: number, again = false) {
    this.loading.get(page)?.abort()
    const controller = new AbortController()
    this.loading.set(page, controller)
    try {
      const rows = await this.readPage(page, again, controller.signal)
      if (controller.signal.aborted) return
      this.pages.set(page, rows)
      this.forgetOne(page)
      this.failure = undefined
      // The planner's guess gives way to what is seen.
      if (rows.length < size) this.length = page * size + rows.length
      else if ((page + 1) * size > this.length) this.length = (page + 1) * size + 1
    } catch (error) {
      if (controller.signal.aborted) return
      this.failure = error
    } finally {
      if (this.loading.get(page) === controller) this.loading.delete(page)
      this.changed()
    }
  }

  /** Bounds memory, however long the user scrolls. */
  private forgetOne(near: number) {
    if (this.pages.size <= most) return
    const far = Array.from(this.pages.keys()).find((page) => page !== 0 && Math.abs(page - near) > 3)
    if (far !== undefined) this.pages.delete(far)
  }

  /**
   * The row with its whole values, if they were cut, which are kept in its place. Fails if it is gone, or if it can only
   * be found by its position and another one is there now.
   */
  async whole(row: Row): Promise<Row> {
    const known = isWhole(row) ? row : this.wholes.get(row)
    if (known !== undefined) return known
    const found = Array.from(this.pages).find(([, rows]) => rows.includes(row))
    const { key } = this.source
    const part = key.map((column): Condition => ({ tag: "compare", column, operator: "eq", value: row[column] }))
    const [page = 0, rows = []] = found ?? []
    const offset = key.length === 0 ? Math.max(0, page * size + rows.indexOf(row)) : 0
    const url = urlOf(
      { ...this.source, filters: key.length === 0 ? this.source.filters : [] },
      { part, offset, limit: 1 }
    )
    const { body } = await request<ReadonlyArray<Row>>(url, { headers: headersOf(this.source), parse: this.parse })
    const [now] = body
    const keyed = key.length > 0 && key[0] !== place
    if (now === undefined || (!keyed && !isSame(row, now)))
      throw new Error("The row was changed or deleted since it was read: read the table again")
    this.wholes.set(row, now)
    if (found !== undefined) {
      this.pages.set(
        page,
        rows.map((one) => (one === row ? now : one))
      )
      this.changed()
    }
    return now
  }

  async countExactly() {
    const { filters, order, path } = this.source
    const query = new URLSearchParams([
      ["select", order[0] === undefined ? "*" : nameText(order[0].column)],
      ["limit", "1"],
      ...filters.map(([name, value]) => [name, value])
    ] as Array<[string, string]>)
    const { headers } = await request(`${path}?${query}`, {
      headers: { ...headersOf(this.source), prefer: "count=exact" }
    })
    this.length = Number(headers.get("content-range")?.split("/")[1] ?? 0)
    this.counted = "exact"
    this.changed()
  }
}
