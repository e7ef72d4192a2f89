/** Who made a change, as a history keeps it: a key may be revoked and renamed later, an identity may go. */
export type Author =
  | { readonly type: "key"; readonly id: number; readonly label: string }
  /** `id` is the idp's; `label` the e-mail address at that time. */
  | { readonly type: "identity"; readonly id: string; readonly label: string }
