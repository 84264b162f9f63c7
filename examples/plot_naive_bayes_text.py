"""
Naive Bayes reads a text
========================

Four short documents are about China (c) or Japan (j). Of a fifth one, "Chinese Chinese Chinese
Tokyo Japan", naive Bayes takes every word as evidence of its own:

P(class | text) ∝ P(class) · Π P(word | class),  P(word | class) = (count + 1)/(words + vocabulary).

One is added to every count, so that a word which was not seen in a class does not rule it out.
The priors are smoothed in the same way, (3 + 1)/(4 + 2) and (1 + 1)/(4 + 2).

On the right, the same as a sum of logarithms: naive Bayes is a linear classifier. "Tokyo" and
"Japan" together weigh a little more than three times "Chinese"; it is the prior that decides.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from gapless import MultinomialNB, plots
from gapless.data import load_builtin
from gapless.plots.style import ACCENT, FAINT, finished

texts, about = load_builtin("documents", return_X_y=True)
words = CountVectorizer(lowercase=False)
model = MultinomialNB(smooth_prior=True).fit(words.fit_transform(texts["text"]), about)
names = words.get_feature_names_out()
new = words.transform(["Chinese Chinese Chinese Tokyo Japan"])
counts = new.toarray()[0]

figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.6), layout="constrained")
for k, (color, hatch) in enumerate([(ACCENT, ""), (FAINT, "///")]):
    p = np.exp(model.feature_log_prob_[k])
    look = {"color": color, "hatch": hatch, "edgecolor": "white"}
    place = np.arange(len(names)) + 0.36 * k - 0.18
    left.barh(place, p, 0.33, label=f"P(word | {model.classes_[k]})", **look)
left.set_yticks(range(len(names)), names)
left.invert_yaxis()
left.legend(frameon=False, loc="lower right")
finished(left, "probability of a word in each class", grid="x")

log_c, log_j = model.feature_log_prob_
known = np.flatnonzero(counts)
steps = {"prior": float(np.subtract(*model.class_log_prior_))}
steps |= {f"{counts[j]} × {names[j]}": counts[j] * (log_c - log_j)[j] for j in known}
steps["sum"] = sum(steps.values())
plots.coefficients(list(steps), list(steps.values()), axes=right)
right.axhline(len(steps) - 1.5, color=FAINT, linewidth=0.8)
right.set(xlabel="evidence: log P(… | c) − log P(… | j)", ylabel="")

joint = np.exp(model.predict_joint_log_proba(new))[0]
for name, prior, score in zip(model.classes_, np.exp(model.class_log_prior_), joint):
    print(f"{name}: prior {prior:.3f}, prior × likelihood {score:.5f}")
print("predicted:", model.predict(new)[0])
plt.show()
