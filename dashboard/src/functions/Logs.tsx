import { useEffect, useLayoutEffect, useRef, useState } from "react"
import { Button } from "../ui/Button.tsx"
import { moment } from "../ui/format.ts"
import { Segments } from "../ui/page/Segments.tsx"
import { follow, type LogLine, mostKept } from "./follow.ts"
import { type CodePlace, piecesOf } from "./places.ts"

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" })
const kinds: Readonly<Record<string, string>> = { error: "bad", warn: "warn", info: "accent" }

const useLines = (name: string) => {
  const [lines, setLines] = useState<ReadonlyArray<LogLine>>([])
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    const ends = new AbortController()
    setLines([])
    void follow(name, {
      signal: ends.signal,
      onState: setProblem,
      onLines: (more) => setLines((all) => [...all, ...more].slice(-mostKept))
    })
    return () => ends.abort()
  }, [name])
  return { lines, problem, clear: () => setLines([]) }
}

interface LineProps {
  readonly line: LogLine
  readonly paths: ReadonlyArray<string>
  readonly onPlace: LogsProps["onPlace"]
}

const Line = ({ line: { at, level, request_id, text, version }, onPlace, paths }: LineProps) => (
  <li className={level}>
    <time dateTime={at} title={`${moment(at)}, v${version}${request_id === "" ? "" : `, request ${request_id}`}`}>
      {clock.format(new Date(at))}
    </time>
    <span className={`badge ${kinds[level] ?? ""}`}>{level}</span>
    <span className="text">
      {piecesOf(text, paths).map((piece, at) =>
        typeof piece === "string" ? (
          piece
        ) : (
          <button key={at} type="button" className="link" onClick={() => onPlace(piece)}>
            {`${piece.path}:${piece.line}:${piece.column}`}
          </button>
        )
      )}
    </span>
  </li>
)

interface LogsProps {
  readonly name: string
  /** Whose code is in the editor. */
  readonly version: number
  readonly paths: ReadonlyArray<string>
  /** Opens a place in the code. */
  readonly onPlace: (place: CodePlace) => void
}

const nowhere: ReadonlyArray<string> = []

/** What the function prints, as it is printed. The newest is at the end, which stays in view unless one reads above. */
export const Logs = ({ name, onPlace, paths, version }: LogsProps) => {
  const { clear, lines, problem } = useLines(name)
  const [level, setLevel] = useState<"all" | "errors">("all")
  const box = useRef<HTMLOListElement>(null)
  const atEnd = useRef(true)
  const shown = level === "all" ? lines : lines.filter((line) => line.level === "error" || line.level === "warn")
  useLayoutEffect(() => {
    if (atEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight
  }, [shown.length])
  return (
    <section className="part" aria-label="Logs">
      <header>
        <h3>Logs</h3>
        <span className={`badge ${problem === undefined ? "good" : "warn"}`} title={problem}>
          {problem === undefined ? "live" : "waiting"}
        </span>
        <Segments
          label="Lines"
          value={level}
          options={[
            ["all", "All"],
            ["errors", "Errors"]
          ]}
          onValue={setLevel}
        />
        <Button kind="quiet" icon="trash" label="Clear the view" onClick={clear} />
      </header>
      {/* A region that scrolls must be reachable by keyboard. */}
      <ol
        ref={box}
        className="function-log"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        aria-label="Printed lines"
        onScroll={({ currentTarget: { clientHeight, scrollHeight, scrollTop } }) => {
          atEnd.current = scrollHeight - scrollTop - clientHeight < 24
        }}
      >
        {shown.map((line) => (
          <Line key={line.id} line={line} paths={line.version === version ? paths : nowhere} onPlace={onPlace} />
        ))}
        {shown.length === 0 ? (
          <li className="none">{problem ?? "Nothing printed yet: console.log and errors appear here at once."}</li>
        ) : null}
      </ol>
    </section>
  )
}
