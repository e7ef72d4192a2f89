import type { ReactNode } from "react"
import { Empty } from "../Empty.tsx"
import type { IconName } from "../icons.ts"

interface GoneProps {
  readonly icon: IconName
  readonly title: string
  /** The link to the list. */
  readonly children: ReactNode
}

/** The page of a record that does not exist. */
export const Gone = ({ children, icon, title }: GoneProps) => (
  <div className="page">
    <Empty icon={icon} title={title} action={children}>
      It was deleted, or never existed.
    </Empty>
  </div>
)
