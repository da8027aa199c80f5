//! Quantisation and the scan.
