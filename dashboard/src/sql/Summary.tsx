import { useEffect, useState } from "react"
import { plural } from "../ui/format.ts"
import type { Result } from "./result/rows.ts"

/** For how long a statement has run. */
export const Running = () => {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    const begun = Date.now()
    const timer = setInterval(() => setSeconds(Math.floor((Date.now() - begun) / 1000)), 250)
    return () => clearInterval(timer)
  }, [])
  return (
    <span className="running">
      Running… <span aria-hidden="true">{seconds === 0 ? "" : `${seconds} s`}</span>
    </span>
  )
}

/** How much came, and how long it took. */
export const Summary = ({ millis, result }: { result: Result; millis: number }) => {
  // A statement that returns nothing has changed as many.
  const rows = result.columns.length === 0 ? result.rowCount : result.rows.length
  return (
    <>
      <span className="badge good">{result.command}</span>
      <span>
        {rows === null ? "" : `${result.truncated ? "first " : ""}${plural(rows, "row")} · `}
        {Math.round(millis)} ms
      </span>
    </>
  )
}
