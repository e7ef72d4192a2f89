import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { PostgreSQL, sql } from "@codemirror/lang-sql"
import { bracketMatching, syntaxTree } from "@codemirror/language"
import { lintGutter, setDiagnostics } from "@codemirror/lint"
import { Compartment, EditorState } from "@codemirror/state"
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view"
import { useEffect, useImperativeHandle, useRef, type Ref } from "react"
import type { Catalogue } from "../catalogue/queries.ts"
import { type Statement, statementsToRun } from "./statements.ts"
import { theme } from "../ui/code/theme.ts"

/** Completions after `from`, after the name of a table, and after its alias. */
const language = (catalogue: Catalogue | undefined) => {
  const relations = [...(catalogue?.tables ?? []), ...(catalogue?.views ?? [])]
  const schema = Object.fromEntries(
    relations.map(({ columns, name, schema, type }) => [
      schema === "public" ? name : `${schema}.${name}`,
      {
        self: { label: name, type: "class", detail: type },
        children: columns.map((column) => ({ label: column.name, type: "property", detail: column.type }))
      }
    ])
  )
  return sql({ dialect: PostgreSQL, schema, upperCaseKeywords: false })
}

export interface EditorHandle {
  readonly toRun: () => ReadonlyArray<Statement>
  /** Underlines the word at a place; undefined removes the mark. */
  readonly mark: (at: number | undefined, message: string) => void
  readonly replace: (text: string) => void
}

interface EditorProps {
  readonly text: string
  readonly catalogue: Catalogue | undefined
  readonly onChange: (text: string) => void
  /** What would run now has other parameters. */
  readonly onParameters: (numbers: ReadonlyArray<number>) => void
  readonly onRun: (explain: boolean) => void
  readonly ref: Ref<EditorHandle>
}

const markAt = (view: EditorView, at: number | undefined, message: string) => {
  if (at === undefined) return view.dispatch(setDiagnostics(view.state, []))
  const from = Math.min(at, view.state.doc.length)
  const to = view.state.wordAt(from)?.to ?? Math.min(from + 1, view.state.doc.length)
  view.dispatch(setDiagnostics(view.state, [{ from, to, severity: "error", message }]), { selection: { anchor: from } })
}

export const Editor = ({ catalogue, onChange, onParameters, onRun, ref, text }: EditorProps) => {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const handlers = useRef({ onChange, onParameters, onRun })
  handlers.current = { onChange, onParameters, onRun }
  const completions = useRef(new Compartment())
  const initial = useRef({ text, catalogue })

  useEffect(() => {
    const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content
    const run = (explain: boolean) => () => {
      handlers.current.onRun(explain)
      return true
    }
    let parameters = ""
    const look = (state: EditorState) => {
      const numbers = [...new Set(statementsToRun(state).flatMap((one) => one.parameters))].toSorted((a, b) => a - b)
      if (parameters === String(numbers)) return
      parameters = String(numbers)
      handlers.current.onParameters(numbers)
    }
    const made = new EditorView({
      ...(place.current === null ? {} : { parent: place.current }),
      state: EditorState.create({
        doc: initial.current.text,
        extensions: [
          // The policy of the page allows style elements only with it.
          ...(nonce === undefined ? [] : [EditorView.cspNonce.of(nonce)]),
          // Without a binding for Tab, which leaves the editor as it does everything else.
          keymap.of([
            { key: "Mod-Enter", run: run(false) },
            { key: "Mod-Shift-Enter", run: run(true) },
            ...closeBracketsKeymap,
            ...completionKeymap,
            ...historyKeymap,
            ...defaultKeymap
          ]),
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          closeBrackets(),
          lintGutter(),
          autocompletion({ icons: false }),
          completions.current.of(language(initial.current.catalogue)),
          theme,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "SQL statement" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) handlers.current.onChange(update.state.doc.toString())
            // A long text is parsed in steps.
            const parsed = syntaxTree(update.state) !== syntaxTree(update.startState)
            if (parsed || update.selectionSet) look(update.state)
          })
        ]
      })
    })
    view.current = made
    look(made.state)
    return () => {
      made.destroy()
      handlers.current.onParameters([])
    }
  }, [])
  useEffect(() => {
    view.current?.dispatch({ effects: completions.current.reconfigure(language(catalogue)) })
  }, [catalogue])
  useImperativeHandle(ref, () => ({
    toRun: () => (view.current === null ? [] : statementsToRun(view.current.state)),
    mark: (at, message) => {
      if (view.current !== null) markAt(view.current, at, message)
    },
    replace: (next) => {
      const { current } = view
      current?.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: next } })
      current?.focus()
    }
  }))
  return <div ref={place} className="sql-editor" />
}
