/** A statement of a dump, without its semicolon and the comments before it. */
export interface DumpStatement {
  readonly kind: "statement"
  /** Its text in parts. */
  readonly parts: ReadonlyArray<Buffer>
  /** Bytes. */
  readonly size: number
  /** Its first words outside quotes and parentheses, in upper case. */
  readonly head: ReadonlyArray<string>
  /** `ALTER … OWNER TO …`. */
  readonly owner: boolean
}

/** Enough for `SECURITY LABEL FOR provider ON SUBSCRIPTION`. */
const headWords = 6

/** The token of a name in double quotes. */
export const quotedName = '"'

/** Words and parentheses of the current statement, which decide where it ends and what it does. */
export class StatementShape {
  readonly head: Array<string> = []
  /** Kinds of the last three tokens: a word, `quotedName`, or "". */
  private last: readonly [string, string, string] = ["", "", ""]
  private parens = 0
  /** Depth of open BEGIN ATOMIC and CASE. */
  private body = 0

  /** `;` does not end the statement. */
  get open() {
    return this.parens > 0 || this.body > 0
  }

  get owner() {
    const [owner, to, name] = this.last
    return this.head[0] === "ALTER" && owner === "OWNER" && to === "TO" && name !== ""
  }

  token(kind: string) {
    this.last = [this.last[1], this.last[2], kind]
  }

  parenthesis(opens: boolean) {
    this.token("")
    if (opens) this.parens++
    else if (this.parens > 0) this.parens--
  }

  word(upper: string) {
    const before = this.last[2]
    this.token(upper)
    if (this.parens > 0) return
    if (this.head.length < headWords) this.head.push(upper)
    // pg_dump quotes the names `case` and `end`, but not `begin` and `atomic`, which never follow each other as names.
    if (this.body > 0) {
      if (upper === "CASE") this.body++
      else if (upper === "END") this.body--
    } else if (upper === "ATOMIC" && before === "BEGIN" && this.createsRoutine()) this.body = 1
  }

  private createsRoutine() {
    const [first, second, third, fourth] = this.head
    const what = second === "OR" && third === "REPLACE" ? fourth : second
    return first === "CREATE" && (what === "FUNCTION" || what === "PROCEDURE")
  }
}
