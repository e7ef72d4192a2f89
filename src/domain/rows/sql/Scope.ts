import { quoteName } from "../../sql/Names.ts"

/** State shared by the parts of one statement: its parameters and the aliases of its relations. */
export class RowScope {
  readonly params: Array<string | Uint8Array | null> = []
  /** The statement may take much memory and time: by a value, as a regular expression does, or by many embeds. */
  costly = false
  private readonly keys = new Map<string, string>()
  private readonly types: Array<number> = []
  private readonly names = new Set<string>()
  private made = 0

  param(value: string | Uint8Array | null) {
    this.params.push(value)
    return `$${this.params.length}`
  }

  /** A parameter that is compared with a value of this type (oid; 0 if unknown). */
  typed(value: string, type: number) {
    this.types.push(type)
    return this.param(value)
  }

  /** A key of a JSON path. Equal keys share a parameter, so that PostgreSQL recognises grouped expressions as equal. */
  key(key: string) {
    const known = this.keys.get(key)
    if (known !== undefined) return known
    const param = this.param(key)
    this.keys.set(key, param)
    return param
  }

  /** Prevents `alias` from using a name. */
  reserve(name: string) {
    this.names.add(name)
  }

  /** A quoted alias, unique in the statement: the wanted name, unless it is taken or PostgreSQL would truncate it. */
  alias(wanted: string): string {
    let name = wanted
    while (this.names.has(name) || Buffer.byteLength(name) > 63) name = `_svc_${++this.made}`
    this.names.add(name)
    return quoteName(name)
  }

  /** A prepared statement keeps its first parameter types, so the text must differ when column types change. */
  finish(text: string) {
    return this.types.length === 0 ? text : `${text} /*${this.types.join()}*/`
  }
}
