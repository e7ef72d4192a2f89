import { createHash, hash } from "node:crypto"
import { DumpScript } from "./Script.ts"
import { type DumpStatement } from "./Statement.ts"

/** The rows of a table in a dump. */
export interface DumpTable {
  /** The columns as COPY lists them. */
  readonly columns: string
  readonly rows: number
  /** The sum of the hashes of all rows, in any order. */
  readonly digest: string
}

/** The contents of a dump, in a form that can be compared. */
export interface DumpContents {
  /** Tables by name. */
  readonly tables: ReadonlyMap<string, DumpTable>
  /** Statements by hash: how often each occurs, and how it begins. */
  readonly statements: ReadonlyMap<string, { readonly times: number; readonly text: string }>
}

/** Differences that are reported. */
const maxDifferences = 10

/** A table without columns has no list. */
const copyHead = /^COPY (.+?) (?:\((.*)\))?\s*FROM stdin$/s

/** Longest beginning of a statement that is kept, in characters. */
const maxText = 120

/** Up to its first string: rows and passwords are not shown. */
const beginning = (text: string) => (text.split(/['$]/, 1)[0] ?? "").replaceAll(/\s+/g, " ").slice(0, maxText).trim()

/** SET and RESET also enclose grants by others than the owner. */
const notCompared = new Set(["SET", "RESET", "GRANT", "REVOKE", "BEGIN", "COMMIT"])

/**
 * Whether a restore does the same. Owners and grants are those of the branch's role; settings are about the dump itself; a
 * backup's warnings name subscriptions and event triggers that are not restored.
 */
const isCompared = ({ head, owner }: DumpStatement, text: string) => {
  const [first, second] = head
  if (owner || notCompared.has(first ?? "")) return false
  if (first === "ALTER" && second === "DEFAULT") return false
  if (/^(CREATE|ALTER|COMMENT ON) (SUBSCRIPTION|EVENT TRIGGER) /.test(text)) return false
  return !text.startsWith("SELECT pg_catalog.set_config(")
}

/** Sums hashes, each as four numbers of 32 bits, so that rows can come in any order. */
class RowSum {
  rows = 0
  private readonly sums = new Uint32Array(4)
  private open: Array<Buffer> = []

  add(bytes: Buffer) {
    let from = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      this.line(bytes.subarray(from, end))
      from = end + 1
    }
    // The buffer may be used again.
    if (from < bytes.length) this.open.push(Buffer.from(bytes.subarray(from)))
  }

  private line(end: Buffer) {
    const line = this.open.length === 0 ? end : Buffer.concat([...this.open, end])
    if (this.open.length > 0) this.open = []
    const digest = hash("sha256", line, "buffer")
    for (let n = 0; n < 4; n++) this.sums[n] = (this.sums[n] ?? 0) + digest.readUInt32LE(n * 4)
    this.rows++
  }

  get digest() {
    return Array.from(this.sums, (sum) => sum.toString(16).padStart(8, "0")).join("")
  }
}

/** Reads a script of pg_dump from any chunks. */
export class DumpContentsReader {
  readonly tables = new Map<string, DumpTable>()
  readonly statements = new Map<string, { readonly times: number; readonly text: string }>()
  private readonly script = new DumpScript()
  private copy: { readonly name: string; readonly columns: string; readonly sum: RowSum } | undefined

  /** Why the script can't be read. */
  read(chunk: Buffer): string | undefined {
    for (const piece of this.script.read(chunk)) {
      if (piece.kind === "problem") return piece.problem
      if (piece.kind === "statement") this.statement(piece)
      else if (piece.kind === "rows") this.copy?.sum.add(piece.bytes)
      else if (this.copy !== undefined) {
        const { columns, name, sum } = this.copy
        this.tables.set(name, { columns, rows: sum.rows, digest: sum.digest })
        this.copy = undefined
      }
    }
    return undefined
  }

  end(): string | undefined {
    return this.script.end()
  }

  private statement(statement: DumpStatement) {
    const { head, parts, size } = statement
    const whole = Buffer.concat(parts)
    const text = whole.toString("utf8", 0, Math.min(size, 65_536)).trim()
    const copied = head[0] === "COPY" ? copyHead.exec(text) : null
    if (copied !== null) {
      this.copy = { name: copied[1] ?? "", columns: copied[2] ?? "", sum: new RowSum() }
      this.script.startRows()
    } else if (isCompared(statement, text)) {
      const key = createHash("sha256").update(whole.toString("latin1").trim(), "latin1").digest("base64")
      const times = (this.statements.get(key)?.times ?? 0) + 1
      this.statements.set(key, { times, text: beginning(text) })
    }
  }
}

/** The service's count of definitions that were changed, which a restore goes on with. */
const isCount = (table: string) => table.startsWith("svc_ddl.")

const sorted = (columns: string) => columns.split(", ").sort().join(", ")

/** Differences of a restored database from the dump that it was restored from; empty when they are equal. */
export const contentDifferences = (source: DumpContents, restored: DumpContents): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const [name, { columns, digest, rows }] of source.tables) {
    if (isCount(name)) continue
    const other = restored.tables.get(name)
    if (other === undefined) found.push(`table ${name} is missing`)
    else if (other.rows !== rows) found.push(`table ${name} has ${other.rows} rows in place of ${rows}`)
    else if (other.columns === columns && other.digest !== digest) found.push(`rows of table ${name} differ`)
    else if (sorted(other.columns) !== sorted(columns)) found.push(`columns of table ${name} differ`)
  }
  for (const name of restored.tables.keys()) if (!source.tables.has(name)) found.push(`table ${name} is new`)
  for (const [key, { text, times }] of source.statements) {
    if ((restored.statements.get(key)?.times ?? 0) < times) found.push(`not restored as it was: ${text}`)
  }
  for (const [key, { text, times }] of restored.statements) {
    if ((source.statements.get(key)?.times ?? 0) < times) found.push(`restored as: ${text}`)
  }
  const more = found.length - maxDifferences
  return more > 0 ? [...found.slice(0, maxDifferences), `and ${more} more`] : found
}
