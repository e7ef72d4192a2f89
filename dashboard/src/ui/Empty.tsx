import { type ReactNode, useEffect, useState } from "react"
import { Icon } from "./Icon.tsx"
import type { IconName } from "./icons.ts"

interface EmptyProps {
  readonly icon: IconName
  readonly title: string
  /** What this is for, in one sentence. */
  readonly children: ReactNode
  /** The one next action. */
  readonly action?: ReactNode
}

export const Empty = ({ action, children, icon, title }: EmptyProps) => (
  <div className="empty">
    <div className="empty-mark">
      <Icon name={icon} size={20} />
    </div>
    <h2>{title}</h2>
    <p>{children}</p>
    {action}
  </div>
)

/** Lines of the shape of what is being read. Nothing for 150 ms: most answers are faster, and a flash is worse. */
export const Skeleton = ({ lines }: { lines: ReadonlyArray<number> }) => {
  const [shown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="skeletons" aria-busy="true">
      <span className="sr">Reading…</span>
      {shown ? lines.map((width, at) => <div key={at} className="skeleton" style={{ width: `${width}%` }} />) : null}
    </div>
  )
}
