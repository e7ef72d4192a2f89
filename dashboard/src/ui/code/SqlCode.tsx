import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { PostgreSQL, sql } from "@codemirror/lang-sql"
import { bracketMatching } from "@codemirror/language"
import { EditorState } from "@codemirror/state"
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view"
import { useEffect, useRef } from "react"
import { theme } from "./theme.ts"

interface SqlCodeProps {
  readonly label: string
  /** At first; a form that begins with another text makes another editor. */
  readonly text: string
  readonly onText: (text: string) => void
}

/** SQL of several lines in a form, with colours. Tab leaves it, as it leaves every other field. */
export const SqlCode = ({ label, onText, text }: SqlCodeProps) => {
  const place = useRef<HTMLDivElement>(null)
  const changed = useRef(onText)
  changed.current = onText
  const initial = useRef({ label, text })
  useEffect(() => {
    const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content
    const view = new EditorView({
      ...(place.current === null ? {} : { parent: place.current }),
      state: EditorState.create({
        doc: initial.current.text,
        extensions: [
          // The policy of the page allows style elements only with it.
          ...(nonce === undefined ? [] : [EditorView.cspNonce.of(nonce)]),
          keymap.of([...closeBracketsKeymap, ...historyKeymap, ...defaultKeymap]),
          lineNumbers(),
          history(),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          sql({ dialect: PostgreSQL }),
          theme,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": initial.current.label }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString())
          })
        ]
      })
    })
    return () => view.destroy()
  }, [])
  return <div ref={place} className="sql-code" />
}
