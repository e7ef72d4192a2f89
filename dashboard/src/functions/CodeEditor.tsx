import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { bracketMatching, indentOnInput, StreamLanguage } from "@codemirror/language"
import { javascript, json, typescript } from "@codemirror/legacy-modes/mode/javascript"
import { lintGutter, setDiagnostics } from "@codemirror/lint"
import { EditorState } from "@codemirror/state"
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view"
import { useEffect, useRef } from "react"
import { theme } from "../ui/code/theme.ts"

/** Where the editor marks what is wrong. */
export interface Mark {
  readonly line: number
  readonly column: number
  readonly message: string
}

interface CodeEditorProps {
  readonly path: string
  readonly text: string
  readonly mark: Mark | undefined
  readonly onChange: (text: string) => void
  readonly onDeploy: () => void
}

const languageOf = (path: string) => {
  if (/\.[cm]?tsx?$/.test(path)) return [StreamLanguage.define(typescript)]
  if (/\.[cm]?jsx?$/.test(path)) return [StreamLanguage.define(javascript)]
  return /\.jsonc?$/.test(path) ? [StreamLanguage.define(json)] : []
}

const show = (view: EditorView, { column, line, message }: Mark) => {
  const at = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines))
  const { length } = view.state.doc
  // At the very end there is no character to underline but the one before.
  const from = Math.min(at.from + Math.max(0, column - 1), at.to, Math.max(0, length - 1))
  const to = Math.min(Math.max(view.state.wordAt(from)?.to ?? 0, from + 1), length)
  view.dispatch(setDiagnostics(view.state, [{ from, to, severity: "error", message }]), {
    selection: { anchor: from },
    effects: EditorView.scrollIntoView(from, { y: "center" })
  })
  view.focus()
}

/** One file of a function; another file is another editor. */
export const CodeEditor = ({ mark, onChange, onDeploy, path, text }: CodeEditorProps) => {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const handlers = useRef({ onChange, onDeploy })
  handlers.current = { onChange, onDeploy }
  const initial = useRef({ text, path })
  useEffect(() => {
    const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content
    const deploy = () => {
      handlers.current.onDeploy()
      return true
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
            { key: "Mod-Enter", run: deploy },
            { key: "Mod-s", run: deploy, preventDefault: true },
            ...closeBracketsKeymap,
            ...historyKeymap,
            ...defaultKeymap
          ]),
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          closeBrackets(),
          indentOnInput(),
          lintGutter(),
          languageOf(initial.current.path),
          theme,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": `Code of ${initial.current.path}` }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) handlers.current.onChange(update.state.doc.toString())
          })
        ]
      })
    })
    view.current = made
    return () => made.destroy()
  }, [])
  useEffect(() => {
    if (view.current === null) return
    if (mark === undefined) view.current.dispatch(setDiagnostics(view.current.state, []))
    else show(view.current, mark)
  }, [mark])
  return <div ref={place} className="function-editor" />
}
