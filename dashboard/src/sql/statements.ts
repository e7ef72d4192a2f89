import { syntaxTree } from "@codemirror/language"
import type { EditorState } from "@codemirror/state"

export interface Statement {
  readonly text: string
  /** Where it begins in the document. */
  readonly from: number
}

/** The statements between two places of the document. */
const within = (state: EditorState, from: number, to: number): ReadonlyArray<Statement & { readonly to: number }> => {
  const found: Array<Statement & { readonly to: number }> = []
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

/** What is selected, else the statement at the cursor, or the one before it. */
export const statementsToRun = (state: EditorState): ReadonlyArray<Statement> => {
  const { from, to } = state.selection.main
  if (from !== to) return within(state, from, to)
  const all = within(state, 0, state.doc.length)
  const here = all.find((one) => from >= one.from && from <= one.to) ?? all.findLast((one) => one.to <= from) ?? all[0]
  return here === undefined ? [] : [here]
}

/** The place in the document of a character that PostgreSQL has counted, from 1; the editor counts UTF-16 units. */
export const placeOf = ({ from, text }: Statement, position: number, prefix: string): number => {
  const characters = Math.max(0, position - 1 - Array.from(prefix).length)
  return from + Array.from(text).slice(0, characters).join("").length
}
