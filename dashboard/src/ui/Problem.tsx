import { type ReactNode, useEffect, useRef, useState } from "react"
import { ApiError, NoResponse } from "../wire/ApiError.ts"
import { Button } from "./Button.tsx"
import { Icon } from "./Icon.tsx"
import { copy } from "./toast.ts"

const linesOf = (details: unknown): ReadonlyArray<string> =>
  Array.isArray(details) ? details.map(String) : typeof details === "string" ? [details] : []

/** Counts down, and calls `onEnd` once. */
const useCountdown = (seconds: number, onEnd: (() => void) | undefined) => {
  const [left, setLeft] = useState(seconds)
  const end = useRef(onEnd)
  end.current = onEnd
  useEffect(() => {
    setLeft(seconds)
    if (seconds === 0) return
    const until = Date.now() + seconds * 1000
    const timer = setInterval(() => {
      const next = Math.max(0, Math.ceil((until - Date.now()) / 1000))
      setLeft(next)
      if (next > 0) return
      clearInterval(timer)
      end.current?.()
    }, 250)
    return () => clearInterval(timer)
  }, [seconds])
  return left
}

interface ProblemProps {
  readonly error: unknown
  /** What did not work, in words of the page. */
  readonly title: string
  /** Called by "Try again", and once by itself if the service says when. */
  readonly onRetry?: () => void
  readonly children?: ReactNode
}

/** A failure, for people: what happened, what to do, and what to report to those who help. */
export const Problem = ({ children, error, onRetry, title }: ProblemProps) => {
  const body = error instanceof ApiError ? error.body : undefined
  const status = error instanceof ApiError ? error.status : undefined
  const left = useCountdown(onRetry === undefined ? 0 : (body?.retry_after ?? 0), onRetry)
  const stepUp = status === 403 ? body?.redirect_to : undefined
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // A long form may be scrolled elsewhere.
    if (element.current?.closest("dialog") != null) element.current.scrollIntoView({ block: "nearest" })
  }, [error])
  return (
    <div ref={element} className="problem" role="alert">
      <Icon name="alert" size={18} />
      <div>
        {/* What did not happen is not known then. */}
        <h2>{error instanceof NoResponse && error.done ? "No response" : title}</h2>
        <p>{error instanceof Error ? error.message : String(error)}</p>
        {body === undefined ? null : (
          <ul>
            {linesOf(body.details).map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        )}
        {body?.hint == null ? null : <p className="hint">{body.hint}</p>}
        {children}
        {body === undefined ? null : (
          <p className="trace">
            <code>{body.code}</code>
            <span>HTTP {status}</span>
            <button type="button" className="link" onClick={() => void copy(body.request_id, "Request id")}>
              request {body.request_id.slice(0, 8)}…
            </button>
          </p>
        )}
        {stepUp == null ? null : (
          <a className="button main" href={stepUp}>
            Confirm that it is you
          </a>
        )}
        {onRetry === undefined ? null : (
          <Button icon="refresh" onClick={onRetry}>
            {left > 0 ? `Try again (${left} s)` : "Try again"}
          </Button>
        )}
      </div>
    </div>
  )
}
