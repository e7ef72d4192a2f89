import { quoteName } from "../../sql/Names.ts"

/** What the parts of one statement share: its parameters, and the names its relations go by. */
export class RowScope {
  readonly params: Array<string | null> = []
  private readonly keys = new Map<string, string>()
  private readonly types: Array<number> = []
  private readonly names = new Set<string>()
  private made = 0

  param(value: string | null) {
    this.params.push(value)
    return `$${this.params.length}`
  }

  /** A parameter that is compared with a value of this type (oid, 0: not known). */
  typed(value: string, type: number) {
    this.types.push(type)
    return this.param(value)
  }

  /** A key of a JSON path: one parameter wherever it comes again, so that what is grouped by is seen to be the same. */
  key(key: string) {
    const known = this.keys.get(key)
    if (known !== undefined) return known
    const param = this.param(key)
    this.keys.set(key, param)
    return param
  }

  /** Keeps a name from being given out by `alias`. */
  reserve(name: string) {
    this.names.add(name)
  }

  /** A quoted name that no other relation of the statement has: this one, unless PostgreSQL would cut it or it is taken. */
  alias(wanted: string): string {
    let name = wanted
    while (this.names.has(name) || Buffer.byteLength(name) > 63) name = `_svc_${++this.made}`
    this.names.add(name)
    return quoteName(name)
  }

  /** A prepared statement keeps the types its parameters had at first: with other column types it is another text. */
  finish(text: string) {
    return this.types.length === 0 ? text : `${text} /*${this.types.join()}*/`
  }
}
