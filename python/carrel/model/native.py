"""The only module that imports the compiled core; everyone else imports its names from here."""

from __future__ import annotations

from carrel._core import FORMAT_VERSION as FORMAT_VERSION
from carrel._core import Batch as Batch
from carrel._core import CancelToken as CancelToken
from carrel._core import Candidate as Candidate
from carrel._core import ChunkInfo as ChunkInfo
from carrel._core import Commit as Commit
from carrel._core import CurrentChunk as CurrentChunk
from carrel._core import CutOptions as CutOptions
from carrel._core import EditorContext as EditorContext
from carrel._core import Embedder as Embedder
from carrel._core import Filter as Filter
from carrel._core import ParsedQuery as ParsedQuery
from carrel._core import Plan as Plan
from carrel._core import RankingContext as RankingContext
from carrel._core import ReadFiles as ReadFiles
from carrel._core import ScoredDoc as ScoredDoc
from carrel._core import SecretOptions as SecretOptions
from carrel._core import Snapshot as Snapshot
from carrel._core import Store as Store
from carrel._core import WalkOptions as WalkOptions
from carrel._core import Watch as Watch
from carrel._core import __version__ as __version__
from carrel._core import best_lines as best_lines
from carrel._core import check_languages as check_languages
from carrel._core import contributions as contributions
from carrel._core import count_tokens as count_tokens
from carrel._core import cut_text as cut_text
from carrel._core import detect_language as detect_language
from carrel._core import give_back_memory as give_back_memory
from carrel._core import languages as languages
from carrel._core import list_secrets as list_secrets
from carrel._core import mask_secrets as mask_secrets
from carrel._core import passages as passages
from carrel._core import path_kinds as path_kinds
from carrel._core import rank as rank
from carrel._core import ranking_weights as ranking_weights
from carrel._core import register_grammar as register_grammar
from carrel._core import registrable_grammars as registrable_grammars
from carrel._core import score as score
from carrel._core import simd_kernel as simd_kernel
from carrel._core import split_names as split_names
from carrel._core import stem as stem
from carrel._core import trim_tokens as trim_tokens
