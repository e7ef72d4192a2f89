import { type IconName, paths } from "./icons.ts"

/** Decorative: what has only an icon has a label of its own. */
export const Icon = ({ name, size = 16 }: { name: IconName; size?: number }) => (
  <svg className="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
)
