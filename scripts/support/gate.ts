export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
  fail(error: Error): void;
}

/** Something to wait for, and what ends the wait. */
export function gate(): Gate {
  let open = (): void => {};
  let fail = (_error: Error): void => {};
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { opened, open, fail };
}
