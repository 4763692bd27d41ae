/** A signal that counts who listens to it: none may be left when what it was given to is over. */
export function countedSignal() {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...given: Parameters<typeof add>) => {
    if (given[0] === 'abort') listeners += 1;
    add(...given);
  };
  signal.removeEventListener = (...given: Parameters<typeof remove>) => {
    if (given[0] === 'abort') listeners -= 1;
    remove(...given);
  };
  return { signal, abort: (reason?: unknown) => controller.abort(reason), listeners: () => listeners };
}
