import { type TableColumn } from "./TableSql.ts"

/** How the values of a key's column are sorted, by both databases and here. */
interface Form {
  readonly compare: (a: string, b: string) => number
  /** `own`: as its type is; `bytes`: by the bytes of its text; `trimmed`: the same, without trailing zeros. */
  readonly sorted: "own" | "bytes" | "trimmed"
  readonly cast: string
}

const compareNumbers = (a: string, b: string) => {
  if (a.length < 16 && b.length < 16) return Number(a) - Number(b)
  const [x, y] = [BigInt(a), BigInt(b)]
  return x < y ? -1 : x > y ? 1 : 0
}

const isSurrogate = (unit: number) => unit >= 0xd800 && unit < 0xe000

/** The order of UTF-8, which differs from JavaScript's for characters outside of the basic plane. */
export const compareBytes = (a: string, b: string) => {
  const end = Math.min(a.length, b.length)
  for (let i = 0; i < end; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1
  }
  return a.length - b.length
}

const number = (cast: string): Form => ({ compare: compareNumbers, sorted: "own", cast })
const own = (cast: string): Form => ({ compare: compareBytes, sorted: "own", cast })
const text: Form = { compare: compareBytes, sorted: "bytes", cast: "text" }

/** Types whose values are equal exactly if their texts are, under the settings of a comparison. Others are refused. */
const forms: Readonly<Record<string, Form>> = {
  int2: number("int8"),
  int4: number("int8"),
  int8: number("int8"),
  oid: number("oid"),
  uuid: own("uuid"),
  bool: own("bool"),
  bytea: own("bytea"),
  numeric: { ...text, sorted: "trimmed" },
  text,
  varchar: text,
  bpchar: text,
  name: text,
  enum: text,
  date: text,
  time: text,
  timestamp: text,
  timestamptz: text,
  inet: text,
  cidr: text,
  macaddr: text
}

/** Undefined: values of this column can't be ordered in the same way everywhere. */
export const keyFormOf = ({ base, deterministic }: TableColumn): Form | undefined =>
  deterministic && Object.hasOwn(forms, base) ? forms[base] : undefined

export const compareKeys =
  (columns: ReadonlyArray<Form>) =>
  (a: ReadonlyArray<string>, b: ReadonlyArray<string>): number => {
    for (const [i, { compare }] of columns.entries()) {
      const order = compare(a[i] ?? "", b[i] ?? "")
      if (order !== 0) return order
    }
    return 0
  }
