import { syntaxTree } from "@codemirror/language"
import type { EditorState } from "@codemirror/state"

export interface Statement {
  readonly text: string
  /** Where it begins in the document. */
  readonly from: number
  /** The numbers of its parameters ($1, $2, …), in order. */
  readonly parameters: ReadonlyArray<number>
}

type Place = Omit<Statement, "parameters"> & { readonly to: number }

/** The statements between two places of the document. */
const within = (state: EditorState, from: number, to: number): ReadonlyArray<Place> => {
  const found: Array<Place> = []
  syntaxTree(state).iterate({
    from,
    to,
    enter: (node) => {
      if (node.name !== "Statement") return true
      const [start, end] = [Math.max(node.from, from), Math.min(node.to, to)]
      const text = state.sliceDoc(start, end).replace(/;\s*$/, "")
      if (text.trim() !== "") found.push({ text, from: start, to: node.to })
      return false
    }
  })
  return found
}

/** What PostgreSQL allows. */
const mostParameters = 65_535

/** Text in quotes, in comments and in names has no numbers for the editor's grammar, whose word for "$1" is "$" and "1". */
const parametersOf = (state: EditorState, { from, text }: Place): ReadonlyArray<number> => {
  const found = new Set<number>()
  const to = from + text.length
  syntaxTree(state).iterate({
    from,
    to,
    enter: ({ from: begin, name }) => {
      if (name !== "Number" || begin <= from || begin >= to) return
      // Within a name, such as a$1, it belongs to the name.
      const before = state.sliceDoc(Math.max(from, begin - 2), begin)
      const number = Number(/^\d+/.exec(state.sliceDoc(begin, Math.min(to, begin + 6)))?.[0])
      if (!/^[^\w$\u0080-\uffff]?\$$/.test(before) || !(number >= 1 && number <= mostParameters)) return
      found.add(number)
    }
  })
  return Array.from(found).toSorted((a, b) => a - b)
}

/** What is selected, else the statement at the cursor, or the one before it. */
const placesToRun = (state: EditorState): ReadonlyArray<Place> => {
  const { from, to } = state.selection.main
  if (from !== to) return within(state, from, to)
  const all = within(state, 0, state.doc.length)
  const here = all.find((one) => from >= one.from && from <= one.to) ?? all.findLast((one) => one.to <= from) ?? all[0]
  return here === undefined ? [] : [here]
}

export const statementsToRun = (state: EditorState): ReadonlyArray<Statement> =>
  placesToRun(state).map((place) => ({ from: place.from, text: place.text, parameters: parametersOf(state, place) }))

/** The place in the document of a character that PostgreSQL has counted, from 1; the editor counts UTF-16 units. */
export const placeOf = ({ from, text }: Pick<Statement, "from" | "text">, position: number, prefix: string): number => {
  const characters = Math.max(0, position - 1 - Array.from(prefix).length)
  return from + Array.from(text).slice(0, characters).join("").length
}
